import { useState } from "react";
import { useWriting } from "../../data/me.ts";
import type { Resource } from "../../data/resource.ts";
import { Link, navigate } from "../../data/router.tsx";
import { Glyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu, type MenuItem } from "../../kit/menu.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago } from "../../kit/values.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { WORKFLOWS } from "../../words/workflows.ts";
import { RunGlyphs } from "./run-glyphs.tsx";
import { type Starter, tagsOf, titleOf, type WorkflowRow } from "./workflow-types.ts";

const ROW = 48;

/** The workflows: how each starts, how its last runs went, when it starts next. */
export function WorkflowTable({
  resource,
  rows,
  total,
  text,
  onClear,
  editable,
  examples,
  onRun,
}: {
  readonly resource: Resource<unknown>;
  readonly rows: readonly WorkflowRow[];
  readonly total: number;
  readonly text: string;
  onClear(): void;
  readonly editable: boolean;
  readonly examples: readonly MenuItem[];
  onRun(row: WorkflowRow): void;
}) {
  const [selected, setSelected] = useState<number>();
  const writing = useWriting();
  const row = selected === undefined ? undefined : rows[selected];
  const open = ({ definition: { id } }: WorkflowRow) => navigate(`${editable ? "/workflows/editor?id=" : "/workflows?look="}${encodeURIComponent(id)}`);
  useKeys(
    {
      x: { title: WORKFLOWS.keys.run, run: () => (row === undefined || !writing.allowed ? false : onRun(row)) },
      e: { title: WORKFLOWS.keys.edit, run: () => (row === undefined ? false : open(row)) },
    },
    { scope: WORKFLOWS.list },
  );
  const empty = (
    <>
      <p>{WORKFLOWS.empty}</p>
      {editable && <Menu className="kit-button" trigger={WORKFLOWS.newWorkflow} items={examples} />}
    </>
  );
  return (
    <StateView
      loading={resource.loading && resource.data === undefined}
      slow={resource.slow}
      error={resource.data === undefined ? resource.error : undefined}
      what={WORKFLOWS.what}
      onRetry={resource.reload}
      onCancel={resource.cancel}
      none={total > 0 && rows.length === 0 ? { filter: text, onClear } : undefined}
      empty={total === 0 ? empty : undefined}
    >
      <div className="workflows-row workflows-head" aria-hidden="true">
        <span>{WORKFLOWS.name}</span>
        <span>{WORKFLOWS.starts}</span>
        <span>{WORKFLOWS.lastRuns}</span>
        <span>{WORKFLOWS.next}</span>
        <span>{WORKFLOWS.owner}</span>
        <span>{WORKFLOWS.tags}</span>
        <span />
      </div>
      <VirtualList
        className="workflows-list"
        label={WORKFLOWS.list}
        count={rows.length}
        rowHeight={ROW}
        keyOf={(index) => rows[index]?.definition.id ?? index}
        selected={selected}
        onSelect={setSelected}
        onOpen={(index) => rows[index] !== undefined && open(rows[index])}
        render={(index) => {
          const one = rows[index];
          return one === undefined ? null : <Cells row={one} editable={editable} mayRun={writing.allowed} onRun={onRun} />;
        }}
      />
    </StateView>
  );
}

function Cells({
  row,
  editable,
  mayRun,
  onRun,
}: {
  readonly row: WorkflowRow;
  readonly editable: boolean;
  readonly mayRun: boolean;
  onRun(row: WorkflowRow): void;
}) {
  const { definition, format, broken, problems, lastRuns = [], starters = [], nextStart } = row;
  const { id } = definition;
  const [address, look] = [`/workflows/editor?id=${encodeURIComponent(id)}`, `/workflows?look=${encodeURIComponent(id)}`];
  const why = problems.find(({ severity }) => severity === "error");
  const items: readonly MenuItem[] = [
    { id: "run", label: WORKFLOWS.run, key: "x", disabledWhy: broken ? WORKFLOWS.broken : mayRun ? undefined : WORKFLOWS.broken, onSelect: () => onRun(row) },
    ...(editable ? [{ id: "edit", label: WORKFLOWS.edit, key: "e", onSelect: () => navigate(address) }] : []),
    { id: "look", label: WORKFLOWS.look, onSelect: () => navigate(look) },
    { id: "runs", label: WORKFLOWS.showRuns, onSelect: () => navigate(`/processes?text=${encodeURIComponent(id)}`) },
  ];
  return (
    <>
      <span role="gridcell" className="workflows-name">
        <span className="workflows-title">
          <Link to={editable ? address : look} className="cut" tabIndex={-1} title={definition.description}>
            <bdi>{titleOf(definition)}</bdi>
          </Link>
          {format === "yaml" && (
            <span className="workflows-lock" title={WORKFLOWS.written}>
              <Icon name="lock" size={14} />
              <span className="unseen">{WORKFLOWS.written}</span>
            </span>
          )}
        </span>
        <span className="workflows-id">
          <span className="mono cut">{id}</span>
          {broken && (
            <span className="workflows-broken cut" title={why?.message}>
              <Glyph state="failed" label={WORKFLOWS.broken} word />
            </span>
          )}
        </span>
      </span>
      <span role="gridcell" className="cut workflows-wide" title={startWords(starters)}>
        {startWords(starters)}
      </span>
      <span role="gridcell">
        <RunGlyphs runs={lastRuns} />
      </span>
      <span role="gridcell" className="workflows-wide">
        {nextStart !== undefined && <Ago at={nextStart} />}
      </span>
      <span role="gridcell" className="cut mono workflows-wide">
        {typeof definition.ownerAgent === "string" ? definition.ownerAgent : ""}
      </span>
      <span role="gridcell" className="cut workflows-wide">
        {tagsOf(definition).join(", ")}
      </span>
      <span role="gridcell">
        <Menu
          trigger={<Icon name="more" />}
          label={WORKFLOWS.menu(titleOf(definition))}
          items={items}
          inRow
          className="kit-button kit-button-plain kit-button-icon"
        />
      </span>
    </>
  );
}

/** Says what starts a workflow. */
export function startWords(starters: readonly Starter[]): string {
  if (starters.length === 0) return WORKFLOWS.byHand;
  return starters
    .map(({ kind, id, detail }) =>
      kind === "schedule" ? WORKFLOWS.schedule(detail ?? id) : kind === "webhook" ? WORKFLOWS.webhook(id, detail) : WORKFLOWS.messages,
    )
    .join("; ");
}
