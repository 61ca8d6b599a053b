import { setTimeout as pause } from "node:timers/promises";
import type { TaskResult, Trace } from "@svc/sdk";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";

/** Poll interval for a task, in milliseconds. */
export const LOOK_MS = 500;
/** A daemon that ended without good-bye, or to be started anew, may take as long to be back. */
export const BACK_MS = 60_000;
/** One that was stopped for good has taken its note away; a moment more, in case that is just being written. */
export const STOPPED_MS = 2_000;

/**
 * Continues to wait for a task after the connection to the daemon broke, and resolves with its result however often the daemon restarts in between.
 * Throws `SVC_CLI_TASK_LEFT` if the daemon does not return.
 */
export async function awaitTask(cli: Cli, task: string): Promise<TaskResult> {
  cli.say(`\nThe connection to the daemon broke; waiting for it and for task ${task} ...`);
  for (let silent = 0; silent < (cli.note() === undefined ? STOPPED_MS : BACK_MS); silent += LOOK_MS) {
    await pause(LOOK_MS);
    const trace = await look(cli, task);
    if (trace === undefined) continue;
    if (trace.status !== "in-flight") return resultOf(trace);
    silent = 0;
  }
  throw fail("SVC_CLI_TASK_LEFT", { task });
}

/** Undefined while no daemon answers, or one that is not up yet. */
async function look(cli: Cli, task: string): Promise<Trace | undefined> {
  try {
    return (await cli.request("GET", `/traces/${task}`)) as Trace;
  } catch (error) {
    const { status = 503 } = error as { status?: number };
    if (status < 500) throw error;
    return undefined;
  }
}

const resultOf = ({ id, agent, status, response = "", error, errorKind, exitCode, durationMs = 0 }: Trace): TaskResult => ({
  ok: status === "ok",
  taskId: id,
  agent,
  reply: response,
  status: status as TaskResult["status"],
  ...(error === undefined ? {} : { error }),
  ...(errorKind === undefined ? {} : { errorKind }),
  ...(exitCode === undefined ? {} : { exitCode }),
  durationMs,
});
