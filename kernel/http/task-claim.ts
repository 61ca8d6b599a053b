import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Caller, CallingTask } from "@svc/sdk";
import { isForwarded } from "./forwarding.ts";

/** Ways to find the task that a local program works for. */
export interface TaskClaims {
  /** The running task that a program names as the one it works for, as far as the daemon's tables agree. */
  readonly taskOf?: (claimed: string) => Promise<Partial<CallingTask>>;
  /** Resolves with the task for which the program at the far end was started, whatever it claims; undefined if it is none of ours. */
  readonly taskBehind?: (socket: Socket) => Promise<string | undefined> | undefined;
}

/** Header with the task that a program claims to work for; values longer than any id are ignored. */
const TASK_HEADER = "x-svc-task";
const LONGEST_CLAIM = 200;

/**
 * Returns the caller with the agent's task for which it works. A program that an engine has started below a task always works for that one, whatever
 * its headers claim or omit: otherwise it could start a chain of calls of its own. Only another running task of the same agent may be claimed
 * instead, since an engine can serve several at a time. If the process tree shows no task, a claim is accepted from this machine and without a token.
 */
export function withTask(caller: Caller, raw: IncomingMessage, claims: TaskClaims): Caller | Promise<Caller> {
  const shown = raw.method === "GET" || isForwarded(raw) ? undefined : claims.taskBehind?.(raw.socket);
  const { [TASK_HEADER]: header } = raw.headers;
  const claimed = typeof header === "string" && header.length <= LONGEST_CLAIM ? header : undefined;
  if (shown === undefined && claimed === undefined) return caller;
  return decided(caller, raw, claims, claimed, shown);
}

async function decided(
  caller: Caller,
  raw: IncomingMessage,
  { taskOf }: TaskClaims,
  claimed: string | undefined,
  shown: ReturnType<NonNullable<TaskClaims["taskBehind"]>>,
): Promise<Caller> {
  const known = async (id: string | undefined): Promise<CallingTask | undefined> => {
    const { agent, taskId, rootId, ...facts } = id === undefined ? {} : ((await taskOf?.(id)) ?? {});
    return agent === undefined || taskId === undefined || rootId === undefined ? undefined : { agent, taskId, rootId, ...facts };
  };
  const own = await shown;
  const mayClaim = own !== undefined || (caller.local && caller.token === undefined);
  const [said, seen] = [await known(mayClaim ? claimed : undefined), await known(own)];
  const task = seen !== undefined && said?.agent !== seen.agent ? seen : said;
  if (task === undefined) return caller;
  // Handlers that pass the claim on read it there.
  raw.headers[TASK_HEADER] = task.taskId;
  return { ...caller, task };
}
