import type { ReactNode } from "react";
import { useResource } from "../../data/resource.ts";
import { Link } from "../../data/router.tsx";
import { Code } from "../../kit/code.tsx";
import { clock, when } from "../../kit/figures.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { StateView } from "../../kit/state-view.tsx";
import { Ago, Mono } from "../../kit/values.tsx";
import { PROCESSES, waitText } from "../../words/processes.ts";
import type { GraphNode, RunDetail, StepDetail } from "./run-types.ts";
import { glyphOf } from "./run-words.ts";
import type { TimelineRow } from "./timeline-rows.ts";

/** Kinds whose input stands in the journal: what they do happens outside. */
const GIVEN = new Set(["agent", "action", "subProcess", "userTask", "approval"]);

/** One step: what went wrong first, then for what it waits, what went in, what came out, and what it belongs to. */
export function StepPane({
  run,
  row,
  node,
  who,
}: {
  readonly run: RunDetail;
  readonly row: TimelineRow;
  readonly node: GraphNode | undefined;
  readonly who: string | undefined;
}) {
  const { step } = row;
  // Another state of the step is another address: what it holds then is read anew, and what it held stays until it is there.
  const path = step === undefined ? undefined : `/api/workflows/runs/${run.id}/step?id=${encodeURIComponent(step.id)}`;
  const detail = useResource<StepDetail>(path, {
    refreshOn: ({ kind, ref, data }) => (kind === "run" && ref === run.id) || (kind === "task" && data?.["runId"] === run.id),
  });
  if (step === undefined) return <p className="processes-note">{PROCESSES.skippedWhy}</p>;
  const whole = detail.data?.step;
  const error = step.error ?? whole?.error;
  const tries = (detail.data?.entries ?? []).filter(({ kind }) => kind === "step.retry");
  return (
    <div className="processes-step" data-step={step.id}>
      {error !== undefined && (
        <div className="processes-error" role="group" aria-label={error.code}>
          <p className="processes-error-code">{error.code}</p>
          <p className="processes-error-message" dir="auto">
            {error.message}
          </p>
          {error.details !== undefined && <Code json={error.details} label={PROCESSES.details} lines={12} />}
        </div>
      )}
      {row.wait !== undefined && (
        <p className="processes-wait">
          <Glyph state={glyphOf(row.state)} />{" "}
          {sentence(waitText(row.wait.kind, row.wait.for, { who, until: row.wait.until === undefined ? undefined : when(row.wait.until) }))}, since{" "}
          {when(row.wait.since)} (<Ago at={row.wait.since} />
          ). {(row.wait.kind === "task" || row.wait.kind === "incident") && <Link to={`/inbox?view=all&item=task:${row.wait.for}`}>{PROCESSES.answerIt}</Link>}
        </p>
      )}
      {step.childRunId !== undefined && (
        <Part title={PROCESSES.child}>
          <Link to={`/processes?run=${step.childRunId}`} className="mono">
            {step.childRunId}
          </Link>
        </Part>
      )}
      {tries.length > 0 && (
        <Part title={PROCESSES.earlier}>
          <ol className="processes-tries">
            {tries.map(({ seq, at, attempt = 0, error: failure }) => (
              <li key={seq}>
                <span className="meta">{clock(at)}</span> {PROCESSES.tryFailed(attempt)}: <bdi>{failure?.message}</bdi>{" "}
                <span className="mono">{failure?.code}</span>
              </li>
            ))}
          </ol>
        </Part>
      )}
      <StateView
        what={PROCESSES.stepWhat}
        loading={whole === undefined && detail.loading}
        slow={detail.slow}
        error={whole === undefined ? detail.error : undefined}
        onRetry={detail.reload}
        onCancel={detail.cancel}
        rows={3}
      >
        {whole?.input !== undefined ? (
          <Code json={whole.input} label={PROCESSES.input} />
        ) : (
          <Part title={PROCESSES.input}>
            <p className="meta">{node !== undefined && !GIVEN.has(node.kind) ? PROCESSES.noInput : PROCESSES.noInputYet}</p>
          </Part>
        )}
        {whole?.output !== undefined ? (
          <Code json={whole.output} label={PROCESSES.output} />
        ) : (
          <Part title={PROCESSES.output}>
            <p className="meta">
              {error !== undefined ? PROCESSES.noOutputFailed : row.state === "canceled" ? PROCESSES.noOutputCanceled : PROCESSES.noOutputYet}
            </p>
          </Part>
        )}
        <Related run={run} node={node} step={whole ?? step} />
      </StateView>
      {node !== undefined && GIVEN.has(node.kind) && (
        <Part title={PROCESSES.key}>
          <Mono>{`${run.id}/${step.id}`}</Mono>
          <p className="meta">{PROCESSES.once}</p>
        </Part>
      )}
    </div>
  );
}

/** Where more is told: the task of an agent, the request to a person. */
function Related({ run, node, step }: { readonly run: RunDetail; readonly node: GraphNode | undefined; readonly step: StepDetail["step"] }) {
  const taskOf = (value: unknown) => {
    const id = (value as { readonly taskId?: unknown } | null | undefined)?.taskId;
    return typeof id === "string" ? id : undefined;
  };
  const task = node?.kind === "agent" ? (taskOf(step.output) ?? taskOf(step.error?.details)) : undefined;
  if (node?.kind === "agent")
    return (
      <Part title={PROCESSES.task}>
        {task === undefined ? (
          <Link to={`/tasks?run=${encodeURIComponent(run.id)}`}>{PROCESSES.tasksOfRun}</Link>
        ) : (
          <Link to={`/tasks/${encodeURIComponent(task)}`}>{PROCESSES.openTask}</Link>
        )}
      </Part>
    );
  if (step.taskId === undefined) return null;
  const done = step.endedAt !== undefined;
  return (
    <Part title={PROCESSES.task}>
      <Link to={`/inbox?view=${done ? "done" : "all"}&item=task:${step.taskId}`}>{PROCESSES.openRequest}</Link>
    </Part>
  );
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className="processes-part">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
