import { type RefObject, useRef } from "react";
import { useMe } from "../../data/me.ts";
import { Link } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { when } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { useKeys } from "../../kit/keys.ts";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { VirtualList, type VirtualListHandle } from "../../kit/virtual-list.tsx";
import { PROCESSES } from "../../words/processes.ts";
import { runGlyph, shortId, standsAt } from "./run-words.ts";
import type { RunFilter, RunList as Runs } from "./use-runs.ts";

const ROW = 48;
type Which = "all" | "open" | "failed";

/** The runs at the left: newest first, filtered, as many as there are. */
export function RunList({
  list,
  filter,
  text,
  selected,
  handle,
  onFilter,
  onText,
  onOpen,
}: {
  readonly list: Runs;
  readonly filter: RunFilter["status"];
  /** Text of the search box; the list follows debounced. */
  readonly text: string;
  readonly selected: string | undefined;
  readonly handle: RefObject<VirtualListHandle | null>;
  onFilter(filter: RunFilter["status"]): void;
  onText(text: string): void;
  onOpen(id: string): void;
}) {
  const search = useRef<HTMLInputElement>(null);
  const { data: me } = useMe();
  const { runs, fresh, loading, error, more } = list;
  const at = runs.findIndex(({ id }) => id === selected);
  const step = (by: number) => {
    const run = runs[Math.max(0, at + by)];
    if (run === undefined) return false;
    onOpen(run.id);
    return true;
  };
  useKeys(
    {
      "[": { title: PROCESSES.keys.previous, run: () => step(-1) },
      "]": { title: PROCESSES.keys.next, run: () => step(1) },
      "/": { title: PROCESSES.keys.filter, run: () => search.current?.focus() },
    },
    { scope: PROCESSES.keys.scope },
  );
  const off = error?.status === 404 || me?.has.workflows === false;
  const none =
    runs.length > 0 ? undefined : off ? (
      <>
        <p>{PROCESSES.off}</p>
        <Link to="/admin#advanced" className="kit-button">
          {PROCESSES.openSetting}
        </Link>
      </>
    ) : filter === "open" ? (
      <p>{PROCESSES.noneOpen}</p>
    ) : filter === "failed" ? (
      <p>{PROCESSES.noneFailed}</p>
    ) : (
      <>
        <p>{PROCESSES.none}</p>
        <Link to="/workflows" className="kit-button">
          {PROCESSES.runOne}
        </Link>
      </>
    );
  return (
    <>
      <div className="processes-filter">
        <SearchBox ref={search} value={text} onChange={onText} label={PROCESSES.filter} />
        <Segmented<Which>
          label={PROCESSES.filterBy}
          selected={filter ?? "all"}
          onSelect={(id) => onFilter(id === "all" ? undefined : id)}
          choices={[
            { id: "all", label: PROCESSES.all },
            { id: "open", label: PROCESSES.open },
            { id: "failed", label: PROCESSES.failed },
          ]}
        />
      </div>
      {fresh > 0 && (
        <Button className="processes-fresh" onClick={list.showFresh}>
          {PROCESSES.fresh(fresh)}
        </Button>
      )}
      <StateView
        what={PROCESSES.what}
        loading={loading}
        error={off || runs.length > 0 ? undefined : error}
        none={text !== "" && runs.length === 0 && !off ? { filter: text, onClear: () => onText("") } : undefined}
        empty={none}
        onRetry={list.reload}
        onCancel={list.cancel}
      >
        <VirtualList
          ref={handle}
          label={PROCESSES.runs}
          count={runs.length}
          rowHeight={ROW}
          keys={false}
          keyOf={(index) => runs[index]?.id ?? index}
          selected={at < 0 ? undefined : at}
          onSelect={(index) => runs[index] !== undefined && onOpen(runs[index].id)}
          {...(more ? { onEnd: list.next } : {})}
          render={(index) => {
            const run = runs[index];
            if (run === undefined) return null;
            const place = standsAt(run);
            return (
              <>
                <span role="gridcell" className="processes-run-state">
                  <Glyph state={runGlyph(run)} />
                </span>
                <span role="gridcell" className="processes-run">
                  <bdi className="cut processes-run-name" title={run.name ?? run.workflowId}>
                    {run.name ?? run.workflowId}
                  </bdi>
                  <span className="cut meta" title={run.id}>
                    <span className="mono">{shortId(run.id)}</span> · <time dateTime={run.createdAt}>{when(run.createdAt)}</time>
                    {place !== undefined && (
                      <>
                        {" · "}
                        <bdi>{place}</bdi>
                      </>
                    )}
                  </span>
                </span>
              </>
            );
          }}
        />
      </StateView>
    </>
  );
}
