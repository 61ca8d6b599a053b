import "./editor.css";
import "./editor-parts.css";
import { useEffect, useRef, useState } from "react";
import { type ApiError, cancelled } from "../../data/api-error.ts";
import { useMe } from "../../data/me.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";
import { Link, useRoute } from "../../data/router.tsx";
import { type GraphDefinition, readGraph } from "../../graph/graph-types.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { EDITOR } from "../../words/editor.ts";
import { freeWorkflowId } from "./edit.ts";
import { EditorFrame } from "./editor-frame.tsx";
import { EditorModel } from "./editor-model.ts";
import { newState, stateOf } from "./editor-state.ts";
import type { Checked, Desk, Source, Subject } from "./editor-types.ts";

const BLANK: GraphDefinition = {
  nodes: [
    { id: "start", kind: "trigger" },
    { id: "done", kind: "end" },
  ],
  edges: [{ from: "start", to: "done" }],
};

/** Returns the subject of the address: `?id=`, `?draft=`, or `?new=blank` and `?new=<example>`. */
function subjectOf(query: URLSearchParams): Subject {
  const [id, draft] = [query.get("id"), query.get("draft")];
  if (id !== null) return { kind: "workflow", id };
  return draft !== null ? { kind: "draft", id: draft } : { kind: "new", id: query.get("new") ?? "blank" };
}

/** The page `/workflows/editor`. */
export default function EditorPage() {
  const { query } = useRoute();
  const subject = subjectOf(query);
  const desk = useResource<Desk>("/api/workflow-editor");
  const key = `${subject.kind}/${subject.id}`;
  // Keep the model when a save gives it an address.
  const [opened, setOpened] = useState<{ readonly key: string; readonly model: EditorModel }>();
  const [error, setError] = useState<ApiError>();
  const [again, setAgain] = useState(0);
  const opening = useRef<AbortController>(undefined);
  const { data } = desk;
  const { data: me } = useMe();
  const there = opened !== undefined && keyOf(opened.model) === key ? opened : undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: read once for each subject, and when a person asks again
  useEffect(() => {
    if (data === undefined || me === undefined || there !== undefined) return undefined;
    const abort = new AbortController();
    opening.current = abort;
    setError(undefined);
    open(subject, data, me.may.write, abort.signal).then(
      (model) => {
        if (!abort.signal.aborted) setOpened({ key, model });
      },
      (failure: ApiError) => {
        if (!abort.signal.aborted) setError(failure);
      },
    );
    return () => abort.abort();
  }, [key, data, me === undefined, again]);
  const failed = desk.error ?? error;
  if (there === undefined || data === undefined)
    return (
      <>
        <PageHead title={subject.kind === "new" ? EDITOR.newWorkflow : subject.id} crumbs={[{ label: EDITOR.workflows, to: "/workflows" }]} />
        <StateView
          loading={failed === undefined}
          slow={desk.slow}
          error={failed}
          what={EDITOR.workflowItself}
          onRetry={() => {
            desk.reload();
            setError(undefined);
            setAgain(again + 1);
          }}
          onCancel={() => {
            desk.cancel();
            opening.current?.abort();
            if (data !== undefined) setError(cancelled());
          }}
        />
      </>
    );
  if (data.mode !== "edit")
    return (
      <>
        <PageHead title={EDITOR.page} crumbs={[{ label: EDITOR.workflows, to: "/workflows" }]} />
        <div className="kit-state">
          <p>{EDITOR.editingOff}</p>
          <Link to="/workflows">{EDITOR.toWorkflows}</Link>
        </div>
      </>
    );
  return <EditorFrame key={there.key} model={there.model} desk={data} />;
}

const keyOf = ({ state: { subject }, opened }: EditorModel): string => (subject.kind === "new" ? `new/${opened}` : `${subject.kind}/${subject.id}`);

async function open(subject: Subject, desk: Desk, mayWrite: boolean, signal: AbortSignal): Promise<EditorModel> {
  if (subject.kind === "new") {
    const example = desk.examples.find(({ id }) => id === subject.id);
    const id = await freeWorkflowId(example?.id ?? "workflow", async (wished) => {
      const { workflows } = await request<{ workflows: readonly { readonly definition: { readonly id: string } }[] }>(
        "GET",
        "/api/workflows?limit=200",
        undefined,
        { signal },
      );
      return workflows.some(({ definition }) => definition.id === wished);
    });
    if (example === undefined) return started(new EditorModel(newState(BLANK, "", id), subject.id));
    const { definition } = await request<Checked>("POST", "/api/workflows/check", { id, text: example.text }, { signal });
    return started(new EditorModel(newState(readGraph(definition).definition, example.text, id), subject.id));
  }
  const place =
    subject.kind === "draft" ? `/api/workflows/drafts/${encodeURIComponent(subject.id)}/text` : `/api/workflows/${encodeURIComponent(subject.id)}/text`;
  const source = await request<Source>("GET", place, undefined, { signal });
  const state = stateOf(subject, source);
  const model = new EditorModel(mayWrite ? state : { ...state, stale: false });
  // JSON is shown as YAML, too; who may read only sees it as it is.
  return source.format === "json" && mayWrite ? started(model) : model;
}

function started(model: EditorModel): EditorModel {
  void model.check();
  return model;
}
