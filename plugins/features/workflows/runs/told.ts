import type { PluginContext, Publication } from "@svc/sdk";
import { iterationOf, nodeOf } from "../engine/step-ids.ts";
import type { Entry } from "../engine/types.ts";

/** Facts of a run in an event, beside the entry. */
export interface ToldRun {
  readonly id: string;
  readonly workflow: string;
  readonly rootId: string;
  readonly parentRunId?: string;
  /** Kind of a node, and who a task is for. */
  kindOf(node: string): string | undefined;
  assigneeOf?(step: string): string | undefined;
}

type Told = Pick<Publication, "kind" | "type" | "ref" | "data"> & { readonly node?: string };

/** The event of an entry; undefined for what the bus is not told (WORKFLOWS 6). Never a value. */
export function eventOf(run: ToldRun, entry: Entry, status: string): Publication | undefined {
  const told = toldOf(run, entry, status);
  if (told === undefined) return undefined;
  const { node, ...event } = told;
  const word = event.kind === "task" ? `task ${event.type}` : event.type;
  return { ...event, id: `${run.id}:${entry.seq}`, summary: `workflow ${run.workflow}: ${node === undefined ? "" : `${node} `}${word}` };
}

function toldOf(run: ToldRun, entry: Entry, status: string): Told | undefined {
  const of = (type: string, step?: string, more: object = {}): Told => ({
    kind: "run",
    type,
    ref: run.id,
    ...(step === undefined ? {} : { node: nodeOf(step) }),
    data: {
      type,
      runId: run.id,
      workflowId: run.workflow,
      status,
      ...(step === undefined ? {} : { node: nodeOf(step), iteration: iterationOf(step) }),
      ...more,
      ...(run.parentRunId === undefined ? {} : { parentRunId: run.parentRunId }),
    },
  });
  const task = (type: string, taskId: string, step: string): Told => {
    const assignee = run.assigneeOf?.(step);
    const frame = { type, taskId, runId: run.id, workflowId: run.workflow, node: nodeOf(step), ...(assignee === undefined ? {} : { assignee }) };
    return { kind: "task", type, ref: taskId, node: nodeOf(step), data: frame };
  };
  switch (entry.kind) {
    case "run.started":
      return of("created");
    case "run.paused":
    case "run.resumed":
    case "run.completed":
    case "run.failed":
    case "run.canceled":
      return of(entry.kind.slice("run.".length));
    case "step.ended":
      return run.kindOf(nodeOf(entry.step)) === "trigger" ? undefined : of("ok", entry.step);
    case "step.failed":
      return of(entry.error.code === "TIMEOUT" ? "timeout" : "failed", entry.step, { attempt: entry.attempt });
    case "step.canceled":
    case "port.dead":
      return of("skipped", entry.step);
    case "join.fired":
      return of("ok", entry.step);
    case "join.short":
      return of("failed", entry.step);
    case "task.created":
    case "task.submitted":
    case "task.canceled":
      return task(entry.kind.slice("task.".length), entry.taskId, entry.step);
    case "signal.received":
      return {
        kind: "signal",
        type: "emitted",
        data: { type: "emitted", name: entry.name, runId: run.id, workflowId: run.workflow },
      };
    default:
      return undefined;
  }
}

/** The status of the run after each entry: entries of one commit may change it in between. */
export function statusAfter(entry: Entry, before: string): string {
  if (!entry.kind.startsWith("run.")) return before;
  return entry.kind === "run.started" || entry.kind === "run.resumed" ? "running" : entry.kind.slice("run.".length);
}

/** Tells the bus of entries, under the root of their run and under ids of their own. */
export function tell(ctx: Pick<PluginContext, "events">, run: ToldRun, entries: readonly Entry[], before: string): void {
  let status = before;
  ctx.events.within({ rootId: run.rootId }, () => {
    for (const entry of entries) {
      status = statusAfter(entry, status);
      const event = eventOf(run, entry, status);
      if (event !== undefined) ctx.events.publish(event);
    }
  });
}
