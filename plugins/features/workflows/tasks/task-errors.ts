import { type SvcError, svcError } from "@svc/sdk";
import type { TaskRow } from "./task-row.ts";

/** There is no such task. */
export const unknownTask = (id: string): SvcError =>
  svcError("SVC_TASK_UNKNOWN", `There is no task '${id}' of a workflow (any more); see svc workflow tasks.`, { status: 404 });

/** Somebody or something was first: the code, state, who and when are for the caller. */
export function closedTask({ id, state, completedBy, completedAt }: TaskRow): SvcError {
  const who = completedBy === undefined ? "" : ` by ${completedBy}`;
  const when = completedAt === undefined ? undefined : new Date(completedAt).toISOString();
  return svcError("task-closed", `The task ${id} is ${state}${who}${when === undefined ? "" : ` since ${when}`}.`, {
    status: 409,
    state,
    ...(completedBy === undefined ? {} : { completedBy }),
    ...(when === undefined ? {} : { completedAt: when }),
  });
}

/** The run of the task takes nothing any more. */
export const closedRun = (runId: string, status: string): SvcError =>
  svcError("SVC_WORKFLOW_RUN_STATE", `The run ${runId} is ${status}: its task cannot be submitted.`, { status: 409, runStatus: status });
