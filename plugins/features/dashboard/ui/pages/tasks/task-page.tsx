import { type ReactNode, useMemo, useState } from "react";
import { useMe, useWriting } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import { Link, navigate, useRoute } from "../../data/router.tsx";
import { Button } from "../../kit/button.tsx";
import { useCommand } from "../../kit/commands.ts";
import { duration } from "../../kit/figures.ts";
import { useKeys } from "../../kit/keys.ts";
import { PageHead } from "../../kit/page-head.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Segmented } from "../../kit/tabs.tsx";
import { toast } from "../../kit/toast.ts";
import { copyText } from "../../kit/values.tsx";
import { TASKS } from "../../words/tasks.ts";
import { Prose } from "../live/prose.tsx";
import { draftOfTask } from "../workflows/task-draft.ts";
import { ContextPart } from "./context-part.tsx";
import { rememberedList } from "./list-rows.ts";
import { ReplayDialog } from "./replay-dialog.tsx";
import { StopTask } from "./stop-task.tsx";
import { TaskFacts } from "./task-facts.tsx";
import { StepPane } from "./task-step-pane.tsx";
import type { TaskView } from "./task-types.ts";
import { Waterfall, type Zoom } from "./waterfall.tsx";
import { rowsOf, type StepRow } from "./waterfall-rows.ts";
import "./task.css";

const WHOLE: Zoom = { by: 1, at: 0.5 };
const MOST_ZOOM = 512;
const TITLE = 80;

/** The page `/tasks/<id>`: where time, tokens and money of one task went, and what its agent saw. */
export default function TaskPage() {
  const { params, query } = useRoute();
  const { id = "" } = params;
  const list = rememberedList();
  const task = useResource<TaskView>(`/api/tasks/${encodeURIComponent(id)}${list?.filter ? `?${list.filter}` : ""}`, {
    refreshOn: ({ ref, type }) => ref === id && type.startsWith("task:"),
  });
  const { data: view } = task;
  const shown = view?.trace.id === id ? view : undefined;
  return (
    <StateViewOf id={id} task={task} shown={shown !== undefined}>
      {shown !== undefined && <OneTask key={id} view={shown} of={query.get("of") ?? undefined} />}
    </StateViewOf>
  );
}

function StateViewOf({
  id,
  task,
  shown,
  children,
}: {
  readonly id: string;
  readonly task: ReturnType<typeof useResource<TaskView>>;
  readonly shown: boolean;
  readonly children: ReactNode;
}) {
  const gone = task.error?.status === 404;
  return (
    <>
      {!shown && <PageHead title={id} crumbs={[{ label: TASKS.title, to: "/tasks" }]} />}
      <StateView
        loading={task.loading && !shown && task.error === undefined}
        slow={task.slow}
        error={shown || gone ? undefined : task.error}
        what={TASKS.task}
        onRetry={task.reload}
        onCancel={task.cancel}
        rows={10}
        empty={
          gone && !shown ? (
            <>
              <p>{TASKS.gone}</p>
              <Link to="/tasks" className="kit-button">
                {TASKS.toList}
              </Link>
            </>
          ) : undefined
        }
      >
        {children}
      </StateView>
    </>
  );
}

function OneTask({ view, of }: { readonly view: TaskView; readonly of: string | undefined }) {
  const { trace, state, context } = view;
  const agents = useResource<{ readonly agents: readonly { readonly id: string; readonly name: string; readonly tier: string }[] }>("/api/agents");
  const agent = agents.data?.agents.find(({ id }) => id === trace.agent);
  const all = useMemo(() => rowsOf(trace, agent?.tier ?? "", context), [trace, agent?.tier, context]);
  const [folded, setFolded] = useState(false);
  const [bars, setBars] = useState<"waterfall" | "list">("waterfall");
  const [zoom, setZoom] = useState(WHOLE);
  const [replay, setReplay] = useState(false);
  const wrong = all.find(({ failed, step }) => failed && step !== undefined) ?? (trace.error === undefined ? undefined : all.find(({ id }) => id === "engine"));
  // The failed step is expanded on arrival.
  const [chosen, setChosen] = useState<string | undefined>(() => wrong?.id);
  const rows = folded ? all.filter(({ level }) => level === 0) : all;
  const row = all.find(({ id }) => id === chosen);
  const failed = all.filter(({ failed: bad, step }) => bad && step !== undefined).length;
  const near = neighbours(trace.id, view.older);
  const writing = useWriting();
  const { data: me } = useMe();
  const [drafting, setDrafting] = useState(false);
  const makeDraft = async () => {
    setDrafting(true);
    await draftOfTask(trace.id).catch((error: Error) => toast({ text: TASKS.noWorkflow, cause: error.message, kind: "error" }));
    setDrafting(false);
  };
  const running = state === "running" || state === "waiting" || state === "queued";
  const step = (by: number) => {
    const at = rows.findIndex(({ id }) => id === chosen);
    const next = rows[at === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by))];
    choose(next);
  };
  const choose = (next: StepRow | undefined) => {
    if (next === undefined) return;
    setChosen(next.id);
    requestAnimationFrame(() => document.querySelector(`[data-step="${next.id}"]`)?.scrollIntoView({ block: "nearest" }));
  };
  const nextError = () => {
    const at = all.findIndex(({ id }) => id === chosen);
    const bad = (one: StepRow) => one.failed && (one.step !== undefined || failed === 0);
    const next = all.slice(at + 1).find(bad) ?? all.find(bad);
    if (next?.level === 1) setFolded(false);
    choose(next);
  };
  const scale = (by: number) => {
    const centre = row === undefined ? zoom.at : (row.from - trace.startedAt) / Math.max(1, (trace.endedAt ?? Date.now()) - trace.startedAt);
    setZoom((now) => ({ by: Math.max(1, Math.min(MOST_ZOOM, now.by * by)), at: centre }));
  };
  useKeys(
    {
      j: { title: `${TASKS.step} +1`, run: () => step(1) },
      k: { title: `${TASKS.step} -1`, run: () => step(-1) },
      e: { title: TASKS.nextError, run: nextError },
      "+": { title: TASKS.zoomIn, run: () => scale(2) },
      "-": { title: TASKS.zoomOut, run: () => scale(0.5) },
      "0": { title: TASKS.zoomReset, run: () => setZoom(WHOLE) },
      ArrowLeft: { title: TASKS.fold, run: () => setFolded(true) },
      ArrowRight: () => setFolded(false),
      "[": { title: TASKS.previous, run: () => (near.newer === undefined ? false : navigate(`/tasks/${near.newer}`)) },
      "]": { title: TASKS.next, run: () => (near.older === undefined ? false : navigate(`/tasks/${near.older}`)) },
      Escape: { title: TASKS.closeStep, run: () => (chosen === undefined ? false : setChosen(undefined)) },
      r: { title: TASKS.replay, run: () => setReplay(true) },
    },
    { scope: TASKS.task },
  );
  useCommand({ id: "task.replay", title: `${TASKS.replay}...`, key: "r", icon: "refresh", run: () => setReplay(true) });
  const copy = async () => {
    await copyText(trace.id);
    toast({ text: `${TASKS.copied}: ${trace.id}` });
  };
  const title = (trace.message ?? trace.messagePreview ?? "").replace(/\s+/g, " ").trim().slice(0, TITLE) || trace.id;
  return (
    <>
      <PageHead title={title} crumbs={[{ label: TASKS.title, to: `/tasks${rememberedAddress()}` }]}>
        <span className="task-neighbours">
          <Button
            kind="plain"
            icon="up"
            aria-label={TASKS.previous}
            disabledWhy={near.newer === undefined ? TASKS.previous : undefined}
            onClick={() => navigate(`/tasks/${near.newer}`)}
          />
          <Button
            kind="plain"
            icon="down"
            aria-label={TASKS.next}
            disabledWhy={near.older === undefined ? TASKS.next : undefined}
            onClick={() => navigate(`/tasks/${near.older}`)}
          />
        </span>
        {me?.has.workflows === true && state === "ok" && (
          <Button className="task-draft" icon="workflows" busy={drafting} disabledWhy={writing.why} onClick={() => void makeDraft()}>
            {TASKS.makeWorkflow}
          </Button>
        )}
        <Button className="task-copy" icon="copy" onClick={copy}>
          {TASKS.copyId}
        </Button>
        {running ? (
          <StopTask task={trace.id} name={agent?.name ?? trace.agent} />
        ) : (
          <Button kind="primary" icon="refresh" disabledWhy={writing.why} onClick={() => setReplay(true)}>
            {`${TASKS.replay}...`}
          </Button>
        )}
      </PageHead>
      <div className="task" data-step-open={row !== undefined || undefined}>
        <div className="task-main" tabIndex={0} role="region" aria-label={TASKS.task}>
          {of !== undefined && <ReplayOf id={of} />}
          <TaskFacts view={view} name={agent?.name ?? trace.agent} />
          <section className="task-part" aria-label={TASKS.steps}>
            <header className="kit-pane-head">
              <h2>{TASKS.steps}</h2>
              <span className={`kit-pane-count${failed > 0 ? " task-failed" : ""}`}>{TASKS.stepsCount(trace.steps.length, failed)}</span>
              <span className="grow" />
              <Segmented<"waterfall" | "list">
                label={TASKS.view}
                selected={bars}
                onSelect={setBars}
                choices={[
                  { id: "waterfall", label: TASKS.waterfall },
                  { id: "list", label: TASKS.listView },
                ]}
              />
            </header>
            {trace.lead !== undefined && (
              <p className="task-context-note">
                {TASKS.lead} <Link to={`/tasks/${trace.lead}`}>{trace.lead}</Link>
              </p>
            )}
            <Waterfall
              view={view}
              rows={rows}
              chosen={chosen}
              onChoose={setChosen}
              folded={folded}
              onFold={() => setFolded(!folded)}
              zoom={zoom}
              bars={bars === "waterfall"}
            />
          </section>
          <Texts view={view} running={running} />
          <ContextPart context={context} />
        </div>
        {row !== undefined && (
          <StepPane
            key={row.id}
            view={view}
            rows={rows}
            row={row}
            onChoose={(next) => choose(all.find(({ id }) => id === next))}
            onClose={() => setChosen(undefined)}
          />
        )}
      </div>
      <ReplayDialog key={String(replay)} view={view} agents={agents.data?.agents ?? []} open={replay} onClose={() => setReplay(false)} />
    </>
  );
}

/** The tasks before and after in the list that was shown last; without one, the next older task. */
function neighbours(id: string, older: string | undefined): { readonly newer?: string; readonly older?: string } {
  const ids = rememberedList()?.ids ?? [];
  const at = ids.indexOf(id);
  const [before, after] = at === -1 ? [undefined, undefined] : [ids[at - 1], ids[at + 1]];
  return { ...(before === undefined ? {} : { newer: before }), ...((after ?? older) === undefined ? {} : { older: (after ?? older) as string }) };
}

const rememberedAddress = (): string => {
  const query = new URLSearchParams(rememberedList()?.filter ?? "");
  const since = query.get("since");
  if (since !== null) query.set("since", new Date(Number(since)).toISOString().slice(0, 16).concat("Z"));
  return query.size === 0 ? "" : `?${query}`;
};

/** Message and answer, complete. */
function Texts({ view: { trace }, running }: { readonly view: TaskView; readonly running: boolean }) {
  const { message, messagePreview, response, withheld, autonomyBlocks = [] } = trace;
  return (
    <section className="task-part task-texts" aria-label={`${TASKS.message}, ${TASKS.answer}`}>
      <div>
        <h2>{TASKS.message}</h2>
        <Prose text={message ?? messagePreview ?? ""} />
        {message === undefined && messagePreview !== undefined && <p className="task-pane-note">{TASKS.onlyPreview}</p>}
      </div>
      <div>
        <h2>{TASKS.answer}</h2>
        {withheld !== undefined && <p className="task-cut">{TASKS.withheld}</p>}
        {autonomyBlocks.map(({ tool, reason }) => (
          <p key={`${tool} ${reason}`} className="task-cut">
            {TASKS.blocked(tool)}: {reason}
          </p>
        ))}
        {response === undefined || response === "" ? (
          <p className="task-pane-note">{running ? TASKS.noAnswerYet : TASKS.noAnswer}</p>
        ) : (
          <Prose text={response} />
        )}
      </div>
    </section>
  );
}

/** Beside what a replay is of: whether it was faster. */
function ReplayOf({ id }: { readonly id: string }) {
  const { data } = useResource<TaskView>(`/api/tasks/${encodeURIComponent(id)}`);
  return (
    <p className="task-replay-of">
      {TASKS.replayOf} <Link to={`/tasks/${id}`}>{(data?.trace.message ?? id).slice(0, TITLE)}</Link>
      {data?.trace.durationMs !== undefined && `, ${TASKS.thatTook(duration(data.trace.durationMs))}`}
    </p>
  );
}
