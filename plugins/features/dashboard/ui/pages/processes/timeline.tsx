import { when } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Duration } from "../../kit/values.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { PROCESSES, waitText } from "../../words/processes.ts";
import { glyphOf } from "./run-words.ts";
import type { TimelineRow } from "./timeline-rows.ts";

const ROW = 32;

/** The steps of a run in the order in which they began: state with its reason, tries, how long. */
export function Timeline({
  rows,
  selected,
  whoOf,
  onSelect,
}: {
  readonly rows: readonly TimelineRow[];
  readonly selected: string | undefined;
  /** Returns the assignee of a request of this run. */
  whoOf(taskId: string): string | undefined;
  onSelect(id: string): void;
}) {
  const at = rows.findIndex(({ id }) => id === selected);
  return (
    <>
      <div className="processes-cells processes-cells-head meta" aria-hidden="true">
        <span>{PROCESSES.step}</span>
        <span>{PROCESSES.state}</span>
        <span className="figure">{PROCESSES.tries}</span>
        <span className="figure">{PROCESSES.took}</span>
      </div>
      <VirtualList
        label={PROCESSES.timeline}
        count={rows.length}
        rowHeight={ROW}
        keyOf={(index) => rows[index]?.id ?? index}
        selected={at < 0 ? undefined : at}
        onSelect={(index) => rows[index] !== undefined && onSelect(rows[index].id)}
        render={(index) => (rows[index] === undefined ? null : <Cells row={rows[index]} who={whoOf(rows[index].wait?.for ?? "")} />)}
      />
    </>
  );
}

function Cells({ row, who }: { readonly row: TimelineRow; readonly who: string | undefined }) {
  const { label, item, visit, depth, state, step } = row;
  const reason = reasonOf(row, who);
  return (
    <div className="processes-cells" role="presentation">
      <span role="gridcell" className="processes-name" data-depth={Math.min(depth, 3)} title={step?.id ?? label}>
        <bdi className="cut">{label}</bdi>
        {item !== undefined && <span className="meta">{PROCESSES.item(item)}</span>}
        {visit !== undefined && <span className="meta">{PROCESSES.visit(visit)}</span>}
      </span>
      <span role="gridcell" className="processes-state">
        <Glyph state={glyphOf(state)} word />
        {reason !== undefined && (
          <bdi className="cut meta" title={reason}>
            {reason}
          </bdi>
        )}
      </span>
      <span role="gridcell" className="figure">
        {step !== undefined && step.attempt > 0 ? step.attempt : ""}
      </span>
      <span role="gridcell" className="figure">
        {step !== undefined && (step.endedAt !== undefined || state === "running" || state === "waiting") && (
          <Duration from={step.claimedAt ?? step.readyAt} to={step.endedAt} />
        )}
      </span>
    </div>
  );
}

/** Why it stands so, in a few words. */
function reasonOf({ state, step, wait }: TimelineRow, who: string | undefined): string | undefined {
  if (state === "skipped") return PROCESSES.skipped;
  if (wait !== undefined) {
    const until = wait.until === undefined ? undefined : when(wait.until);
    return `${waitText(wait.kind, wait.for, { until, who })}, since ${when(wait.since)}`;
  }
  if (step?.error !== undefined) return `${step.error.code}: ${step.error.message}`;
  if (state === "ready") return PROCESSES.ready;
  if (state === "canceled") return PROCESSES.canceledBy;
  const ports = (step?.ports ?? []).filter((port) => port !== "out");
  return ports.length === 0 ? undefined : PROCESSES.toPort(ports.join(", "));
}
