import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { TaskResult } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { NO_DAEMON } from "../exit.ts";
import { isUpgrading } from "../upgrade/mark.ts";
import { awaitTask, BACK_MS, LOOK_MS } from "./await-task.ts";

/** The events of a running task, for a caller that prints the answer as it grows. */
export interface Hearer {
  queued?(): void;
  text?(text: string): void;
}

const INTERRUPTED = 130;

/**
 * Hands a message over and waits for its result, over a break of the connection and restarts of the daemon: the message carries a key, so
 * that it is taken once however often it must be sent. Throws what the daemon refused it with, `SVC_CLI_TASK_LEFT` when the daemon does
 * not come back, and `SVC_CLI_TASK_UNKNOWN` when it went away before it said whether it took the message.
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
    if (task === undefined && !isBreak(error) && !isAway(cli, error)) throw error;
  }
  try {
    if (task === undefined && result === undefined) {
      const answer = await askAgain(cli, body, headers);
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

/** The connection broke; what the daemon refused, and one that was not there, are answers. */
function isBreak(error: unknown): boolean {
  const { code = "", status } = error as { code?: string; status?: number };
  return status === undefined && !code.startsWith("SVC_");
}

/** Not there, and coming back: nothing was sent to it. */
const isAway = ({ dataFolder }: Cli, error: unknown): boolean => NO_DAEMON.has((error as { code?: string }).code ?? "") && isUpgrading(dataFolder);

/** Sends it once more under its key, when the daemon is back: it is taken now, or the task that took it is named. */
async function askAgain(
  cli: Cli,
  body: object,
  headers: Readonly<Record<string, string>>,
): Promise<TaskResult | { readonly taskId: string; readonly duplicate: true }> {
  cli.say("\nThe connection to the daemon broke before it took the message; sending it again when it is back ...");
  for (let silent = 0; silent < BACK_MS; silent += LOOK_MS) {
    try {
      return (await cli.request("POST", "/task", body, headers)) as TaskResult;
    } catch (error) {
      const { code = "", status = 503 } = error as { code?: string; status?: number };
      if (status < 500 && !NO_DAEMON.has(code)) throw error;
    }
    await pause(LOOK_MS);
  }
  throw fail("SVC_CLI_TASK_UNKNOWN");
}
