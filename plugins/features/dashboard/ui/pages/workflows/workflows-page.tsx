import "./workflows.css";
import { useRef, useState } from "react";
import { useMe, useWriting } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import { Link, navigate, useQuery } from "../../data/router.tsx";
import { SearchBox } from "../../kit/field.tsx";
import { useKeys } from "../../kit/keys.ts";
import { Menu } from "../../kit/menu.tsx";
import { PageHead } from "../../kit/page-head.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { WORKFLOWS } from "../../words/workflows.ts";
import type { Desk } from "../editor/editor-types.ts";
import { DraftTable } from "./draft-table.tsx";
import { RunDialog } from "./run-dialog.tsx";
import { TaskDraftDialog } from "./task-draft-dialog.tsx";
import { WorkflowLook } from "./workflow-look.tsx";
import { WorkflowTable } from "./workflow-table.tsx";
import { type DraftRow, tagsOf, titleOf, type WorkflowRow } from "./workflow-types.ts";

const isRun = ({ kind }: { readonly kind: string }) => kind === "run";

/** The page `/workflows`: find, run, edit; drafts. With `?look=` one workflow to look at. */
export default function WorkflowsPage() {
  const { data: me } = useMe();
  const [look] = useQuery("look");
  const missing = me?.has.workflows === false;
  if (missing)
    return (
      <>
        <PageHead title={WORKFLOWS.page} />
        <div className="kit-state">
          <p>{WORKFLOWS.off}</p>
          <Link to="/admin?setting=workflows.enabled#advanced">{WORKFLOWS.openSetting}</Link>
        </div>
      </>
    );
  return look === undefined ? <Lists ready={me !== undefined} /> : <WorkflowLook id={look} />;
}

function Lists({ ready }: { readonly ready: boolean }) {
  const [given, setView] = useQuery("view");
  const [text = "", setText] = useQuery("text");
  const view = given === "drafts" ? "drafts" : "all";
  const filter = useRef<HTMLInputElement>(null);
  const writing = useWriting();
  const desk = useResource<Desk>(ready ? "/api/workflow-editor" : undefined);
  const workflows = useResource<{ readonly workflows: readonly WorkflowRow[] }>(ready ? "/api/workflows?limit=200&runs=10" : undefined, { refreshOn: isRun });
  const drafts = useResource<{ readonly drafts: readonly DraftRow[] }>(ready ? "/api/workflows/drafts?limit=200" : undefined);
  const [run, setRun] = useState<WorkflowRow>();
  const [asksTask, setAsksTask] = useState(false);
  const editable = desk.data?.mode === "edit";
  const word = text.trim().toLowerCase();
  const fits = ({ definition }: Pick<WorkflowRow, "definition">) =>
    [definition.id, titleOf(definition), definition.ownerAgent ?? "", ...tagsOf(definition)].some((one) => String(one).toLowerCase().includes(word));
  const all = workflows.data?.workflows ?? [];
  const allDrafts = drafts.data?.drafts ?? [];
  const start = (from: string) => navigate(`/workflows/editor?new=${encodeURIComponent(from)}`);
  useKeys(
    {
      "/": { title: "Filter", run: () => filter.current?.focus() },
      n: { title: WORKFLOWS.keys.new, run: () => (editable && writing.allowed ? start("blank") : false) },
    },
    { scope: WORKFLOWS.page, active: run === undefined && !asksTask },
  );
  const items = [
    { id: "blank", label: WORKFLOWS.blank, key: "n", onSelect: () => start("blank") },
    { id: "task", label: WORKFLOWS.fromTask, onSelect: () => setAsksTask(true) },
    ...(desk.data?.examples ?? []).map(({ id, name }) => ({ id, label: WORKFLOWS.fromExample(name), onSelect: () => start(id) })),
  ];
  return (
    <>
      <PageHead title={WORKFLOWS.page}>
        {editable && writing.allowed && <Menu className="kit-button kit-button-primary" trigger={WORKFLOWS.newWorkflow} items={items} />}
      </PageHead>
      <div className="workflows">
        <div className="workflows-bar">
          <SearchBox ref={filter} value={text} onChange={(next) => setText(next)} />
          <Segmented
            label={WORKFLOWS.which}
            choices={[
              { id: "all", label: WORKFLOWS.all, ...(all.length === 0 ? {} : { mark: all.length }) },
              { id: "drafts", label: WORKFLOWS.drafts, ...(allDrafts.length === 0 ? {} : { mark: allDrafts.length }) },
            ]}
            selected={view}
            onSelect={(next) => setView(next === "all" ? undefined : next)}
          />
          {desk.data !== undefined && !editable && <span className="workflows-off">{WORKFLOWS.editorOff}</span>}
        </div>
        {view === "drafts" ? (
          <DraftTable
            resource={drafts}
            rows={allDrafts.filter(fits)}
            total={allDrafts.length}
            text={text}
            onClear={() => setText(undefined)}
            editable={editable}
          />
        ) : (
          <WorkflowTable
            resource={workflows}
            rows={all.filter(fits)}
            total={all.length}
            text={text}
            onClear={() => setText(undefined)}
            editable={editable}
            examples={items}
            onRun={setRun}
          />
        )}
      </div>
      {asksTask && <TaskDraftDialog onClose={() => setAsksTask(false)} />}
      {run !== undefined && <RunDialog id={run.definition.id} name={titleOf(run.definition)} onClose={() => setRun(undefined)} />}
    </>
  );
}
