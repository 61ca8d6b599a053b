import { useState } from "react";
import { useWriting } from "../../data/me.ts";
import type { Resource } from "../../data/resource.ts";
import { Link, navigate } from "../../data/router.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Menu, type MenuItem } from "../../kit/menu.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago } from "../../kit/values.tsx";
import { VirtualList } from "../../kit/virtual-list.tsx";
import { WORKFLOWS } from "../../words/workflows.ts";
import { type DraftAct, DraftDialog } from "./draft-dialog.tsx";
import { type DraftRow, titleOf } from "./workflow-types.ts";

const ROW = 48;

/** The drafts: where each comes from, how sure its author was, and what can be done with it. */
export function DraftTable({
  resource,
  rows,
  total,
  text,
  onClear,
  editable,
}: {
  readonly resource: Resource<unknown>;
  readonly rows: readonly DraftRow[];
  readonly total: number;
  readonly text: string;
  onClear(): void;
  readonly editable: boolean;
}) {
  const [selected, setSelected] = useState<number>();
  const [asked, setAsked] = useState<{ readonly act: DraftAct; readonly row: DraftRow }>();
  const writing = useWriting();
  const open = ({ definition: { id } }: DraftRow) => navigate(editable ? `/workflows/editor?draft=${encodeURIComponent(id)}` : `/workflows?view=drafts`);
  return (
    <>
      <StateView
        loading={resource.loading && resource.data === undefined}
        slow={resource.slow}
        error={resource.data === undefined ? resource.error : undefined}
        what={WORKFLOWS.whatDrafts}
        onRetry={resource.reload}
        onCancel={resource.cancel}
        none={total > 0 && rows.length === 0 ? { filter: text, onClear } : undefined}
        empty={total === 0 ? <p>{WORKFLOWS.emptyDrafts}</p> : undefined}
      >
        <div className="workflows-row workflows-drafts workflows-head" aria-hidden="true">
          <span>{WORKFLOWS.name}</span>
          <span>{WORKFLOWS.madeFrom}</span>
          <span>{WORKFLOWS.confidence}</span>
          <span>{WORKFLOWS.sources}</span>
          <span>{WORKFLOWS.problems}</span>
          <span>{WORKFLOWS.changed}</span>
          <span />
        </div>
        <VirtualList
          className="workflows-list"
          label={WORKFLOWS.draftList}
          count={rows.length}
          rowHeight={ROW}
          rowClass={() => "workflows-drafts"}
          keyOf={(index) => rows[index]?.definition.id ?? index}
          selected={selected}
          onSelect={setSelected}
          onOpen={(index) => rows[index] !== undefined && open(rows[index])}
          render={(index) => {
            const row = rows[index];
            return row === undefined ? null : (
              <Cells row={row} editable={editable} writable={writing.allowed} why={writing.why} onAct={(act) => setAsked({ act, row })} />
            );
          }}
        />
      </StateView>
      {asked !== undefined && <DraftDialog act={asked.act} draft={asked.row.definition} onClose={() => setAsked(undefined)} />}
    </>
  );
}

function Cells({
  row: { definition, problems, updatedAt },
  editable,
  writable,
  why,
  onAct,
}: {
  readonly row: DraftRow;
  readonly editable: boolean;
  readonly writable: boolean;
  readonly why: string | undefined;
  onAct(act: DraftAct): void;
}) {
  const { id, generatedFrom, confidence, sourceTaskIds } = definition;
  const sources = Array.isArray(sourceTaskIds) ? sourceTaskIds.filter((one) => typeof one === "string") : [];
  const errors = problems.filter(({ severity }) => severity === "error");
  const [first] = sources;
  const needsEdit = writable ? (editable ? undefined : WORKFLOWS.editorOff) : why;
  const items: readonly MenuItem[] = [
    { id: "replay", label: WORKFLOWS.replay, disabledWhy: errors.length > 0 ? WORKFLOWS.errors(errors.length) : why, onSelect: () => onAct("replay") },
    { id: "promote", label: WORKFLOWS.promote, disabledWhy: errors.length > 0 ? WORKFLOWS.errors(errors.length) : needsEdit, onSelect: () => onAct("promote") },
    { id: "reject", label: WORKFLOWS.reject, danger: true, disabledWhy: needsEdit, onSelect: () => onAct("reject") },
  ];
  return (
    <>
      <span role="gridcell" className="workflows-name">
        {editable ? (
          <Link to={`/workflows/editor?draft=${encodeURIComponent(id)}`} className="cut" tabIndex={-1} title={definition.description}>
            <bdi>{titleOf(definition)}</bdi>
          </Link>
        ) : (
          <bdi className="cut">{titleOf(definition)}</bdi>
        )}
        <span className="mono cut workflows-id">{id}</span>
      </span>
      <span role="gridcell" className="cut workflows-wide">
        {WORKFLOWS.origin[String(generatedFrom)] ?? WORKFLOWS.byPerson}
      </span>
      <span role="gridcell" className="workflows-wide">
        {typeof confidence === "number" ? WORKFLOWS.confident(confidence) : ""}
      </span>
      <span role="gridcell" className="cut workflows-wide">
        {first !== undefined && (
          <Link to={`/tasks/${encodeURIComponent(first)}`} className="mono" tabIndex={-1}>
            {first}
          </Link>
        )}
        {sources.length > 1 && ` +${sources.length - 1}`}
      </span>
      <span role="gridcell" className={errors.length > 0 ? "workflows-broken cut" : "cut"} title={problems[0]?.message}>
        {errors.length > 0 ? WORKFLOWS.errors(errors.length) : problems.length > 0 ? WORKFLOWS.warnings(problems.length) : WORKFLOWS.noProblems}
      </span>
      <span role="gridcell" className="workflows-wide">
        <Ago at={updatedAt} />
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
