import type { Trace, Traces } from "@svc/sdk";
import { svcError } from "@svc/sdk";
import { checkDefinition, isWorkflowId } from "../definition/check-definition.ts";
import { definitionError } from "../definition/definition-errors.ts";
import { requireRunnable } from "../definition/definition-views.ts";
import { type Definitions, NEW } from "../definition/definitions.ts";
import type { Draft, Drafts } from "./draft-files.ts";
import { definitionOfTask, idOfName } from "./task-draft.ts";

/** Of which task, and what its draft is called; without an id a free one is made of the words of its message. */
export interface TaskDraftQuery {
  readonly taskId: string;
  readonly id?: string;
}

const TRIES = 100;

/**
 * Makes a draft of a recorded task. Throws `SVC_TRACE_UNKNOWN` (404), `SVC_DRAFT_TASK_RUNS` and `SVC_DRAFT_THERE` (409), `SVC_DRAFT_TASK` (422)
 * for a task that no workflow can be made of, and what the check of definitions finds.
 */
export async function draftFromTask(
  { traces, drafts, definitions }: { readonly traces: Pick<Traces, "get">; readonly drafts: Drafts; readonly definitions: Definitions },
  { taskId, id }: TaskDraftQuery,
): Promise<Draft> {
  if (id !== undefined && !isWorkflowId(id)) throw definitionError("SVC_WORKFLOW_ID", { id });
  const value = await definitionOf(traces, taskId);
  const known = await definitions.known();
  const name = idOfName(String(value["name"]));
  requireRunnable(id ?? name, checkDefinition(JSON.stringify(value), { id: id ?? "draft", format: "json", known }));
  if (id !== undefined) {
    const saved = await savedAs(drafts, id, value);
    if (saved === undefined) throw definitionError("SVC_DRAFT_THERE", { id });
    return saved;
  }
  for (let count = 1; count <= TRIES; count += 1) {
    const free = count === 1 ? name : `${name}-${count}`;
    if (!isWorkflowId(free) || (await definitions.get(free)) !== undefined) continue;
    const saved = await savedAs(drafts, free, value);
    if (saved !== undefined) return saved;
  }
  throw definitionError("SVC_DRAFT_THERE", { id: name });
}

/** Undefined where a draft has that id. */
async function savedAs(drafts: Drafts, id: string, value: Readonly<Record<string, unknown>>): Promise<Draft | undefined> {
  const there = await drafts.get(id).catch((error: Error & { code?: string }) => {
    if (error.code !== "SVC_DRAFT_UNKNOWN") throw error;
  });
  if (there !== undefined) return undefined;
  return drafts.save(id, value, NEW).catch((error: Error & { code?: string }) => {
    // Another one has come first.
    if (error.code !== "SVC_DRAFT_CHANGED") throw error;
    return undefined;
  });
}

async function definitionOf(traces: Pick<Traces, "get">, taskId: string): Promise<Readonly<Record<string, unknown>>> {
  const trace = await traces.get(taskId);
  if (trace === undefined) throw svcError("SVC_TRACE_UNKNOWN", `Nothing is recorded under '${taskId}': name a task that is still kept.`, { status: 404 });
  if (trace.status === "in-flight") throw definitionError("SVC_DRAFT_TASK_RUNS", { task: taskId });
  const refuse = (reason: string) => definitionError("SVC_DRAFT_TASK", { task: taskId, reason });
  if (trace.status !== "ok") throw refuse(`it has no answer: ${trace.status === "timeout" ? "it ran out of time" : "it failed"}`);
  if (trace.message === undefined && trace.messagePreview !== undefined) throw refuse("only the first 200 characters of its message were kept");
  const value = definitionOfTask(trace, await leadOf(traces, trace));
  if (value === undefined) throw refuse("no agent was asked, and no action was called that can be called again");
  return value;
}

/** The task whose turn answered this one: the steps are in its trace. */
const leadOf = async (traces: Pick<Traces, "get">, { lead }: Trace): Promise<Trace | undefined> => (lead === undefined ? undefined : traces.get(lead));
