import type { IncomingHttpHeaders } from "node:http";
import type { Caller, CallingTask } from "@svc/sdk";

/** The running task that a program of this machine names as the one it works for, as far as the daemon's tables agree. */
export type TaskOf = (claimed: string) => Promise<Partial<CallingTask>>;

/** The task that a program works for, as it says; what is longer than any id is none. */
const TASK_HEADER = "x-svc-task";
const LONGEST_CLAIM = 200;

/** The caller with the agent's task for which it works, where it is a program of this machine that names one. */
export async function withTask(caller: Caller, { [TASK_HEADER]: claimed }: IncomingHttpHeaders, taskOf: TaskOf | undefined): Promise<Caller> {
  if (!caller.local || caller.token !== undefined || typeof claimed !== "string" || claimed.length > LONGEST_CLAIM) return caller;
  const { agent, taskId, rootId, ...facts } = (await taskOf?.(claimed)) ?? {};
  return agent === undefined || taskId === undefined || rootId === undefined ? caller : { ...caller, task: { agent, taskId, rootId, ...facts } };
}
