import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { TaskResult } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { NO_DAEMON } from "../exit.ts";
import { isUpgrading } from "../upgrade/mark.ts";
import { awaitTask, BACK_MS, LOOK_MS, STOPPED_MS } from "./await-task.ts";

/** The events of a running task, for a caller that prints the answer as it grows. */
export interface Hearer {
  queued?(): void;
  text?(text: string): void;
}

const INTERRUPTED = 130;

/**
 * Sends a message and waits for its result, across connection losses and restarts of the daemon: the message carries an idempotency key, so that it
 * is accepted once even if it is sent repeatedly. Throws the daemon's refusal, `SVC_CLI_TASK_LEFT` if the daemon does not return, and
 * `SVC_CLI_TASK_UNKNOWN` if the connection broke before the daemon acknowledged the message.
 */
export async function runTask(cli: Cli, body: object, hear: Hearer = {}, path = "/task"): Promise<TaskResult> {
  const headers = { "idempotency-key": randomUUID() };
  let task: string | undefined;
  let result: TaskResult | undefined;
  const interrupted = () => {
    cli.say(
      task === undefined
        ? "\nThe message may have been taken; look with: svc task list"
        : `\nTask ${task} goes on. See it with: svc task show ${task}; end it with: svc task cancel ${task}`,
    );
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", interrupted);
  try {
    for await (const { event, data } of cli.frames("POST", path, body, { headers })) {
      const facts = data as { taskId?: string; text?: string };
      if (event === "accepted") task = facts.taskId;
      else if (event === "queued") hear.queued?.();
      else if (event === "text" && facts.text !== undefined) hear.text?.(facts.text);
      else if (event === "done") result = data as TaskResult;
    }
  } catch (error) {
    if (task === undefined && !isBreak(error) && !(await isAway(cli, error))) throw error;
    if (task === undefined) cli.say(isBreak(error) ? BROKEN : RESTARTING);
  }
  try {
    if (task === undefined && result === undefined) {
      const answer = await askAgain(cli, path, body, headers);
      task = answer.taskId;
      if (!("duplicate" in answer)) result = answer;
    }
    // Interrupted by a stop or a restart: the daemon takes it up again when it is back.
    if (task !== undefined && (result === undefined || result.errorKind === "interrupted")) result = await awaitTask(cli, task);
  } finally {
    process.removeListener("SIGINT", interrupted);
  }
  return result as TaskResult;
}

/** Whether the connection broke; a refusal, or no daemon at all, is an answer. */
function isBreak(error: unknown): boolean {
  const { code = "", status } = error as { code?: string; status?: number };
  return status === undefined && !code.startsWith("SVC_");
}

/** Whether the daemon did not take the message, and is back in a moment: it ends for a restart, or is down for an upgrade. */
async function isAway(cli: Cli, error: unknown): Promise<boolean> {
  const { code = "" } = error as { code?: string };
  if (code === "SVC_DAEMON_DRAINING") return isUpgrading(cli.dataFolder) || (await isRestarting(cli));
  return NO_DAEMON.has(code) && isUpgrading(cli.dataFolder);
}

/** Whether the daemon, which takes no new work, ends for a restart. One that does not answer any more has ended meanwhile: then its note says it. */
async function isRestarting(cli: Cli): Promise<boolean> {
  try {
    const { events } = (await cli.request("GET", "/events/recent?kind=status")) as { events: { data?: { restart?: string } }[] };
    return events.map(({ data }) => data?.restart).findLast((restart) => restart !== undefined) === "begun";
  } catch {
    return cli.note() !== undefined;
  }
}

const BROKEN = "\nThe connection to the daemon broke before it took the message; sending it again when it is back ...";
const RESTARTING = "\nThe daemon takes no messages at the moment; sending it again when it does ...";

/**
 * Sends it again under its key, when the daemon is back: it is accepted now, or the answer names the task that was. Throws the last refusal, or
 * `SVC_CLI_TASK_UNKNOWN`, where the daemon does not come back.
 */
async function askAgain(
  cli: Cli,
  path: string,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<TaskResult | { readonly taskId: string; readonly duplicate: true }> {
  let refusal: unknown;
  const patience = () => (cli.note() === undefined && !isUpgrading(cli.dataFolder) ? STOPPED_MS : BACK_MS);
  for (let silent = 0; silent < patience(); silent += LOOK_MS) {
    await pause(LOOK_MS);
    try {
      return (await cli.request("POST", path, { ...body, stream: undefined }, headers)) as TaskResult;
    } catch (error) {
      const { code = "", status = 503 } = error as { code?: string; status?: number };
      if (status < 500 && !NO_DAEMON.has(code)) throw error;
      if (code === "SVC_DAEMON_DRAINING") refusal = error;
    }
  }
  throw refusal ?? fail("SVC_CLI_TASK_UNKNOWN");
}
