import { setTimeout as pause } from "node:timers/promises";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import type { DaemonNote } from "../own-daemon.ts";
import { firstWords, START_MS } from "./detach.ts";

/** A restart further away than this is not waited for, in milliseconds. */
const SOON_MS = 60_000;

interface RestartRequest {
  readonly by: string;
  readonly reason?: string;
}

/** Ask the daemon to restart and say how that went. */
export async function restartDaemon(cli: Cli, request: RestartRequest): Promise<void> {
  const answer = await restart(cli, request);
  if ("pid" in answer)
    cli.print(`The daemon has restarted and is up on http://${answer.host}:${answer.port} (pid ${answer.pid}).`, { restarted: true, ...answer });
  else cli.print(`The restart is held until ${new Date(answer.at).toLocaleString()}; the daemon then restarts by itself.`, { restarted: false, ...answer });
}

/** Waits until the new daemon answers; a restart that is held for a window is not waited for, and its time is the answer. */
export async function restart(cli: Cli, request: RestartRequest): Promise<DaemonNote | { readonly at: string }> {
  const { lockHolder } = await import("@svc/kernel/folder");
  const pid = lockHolder(cli.dataFolder)?.pid;
  // One that hangs is not asked: it would never answer.
  await cli.request("GET", "/health");
  const { at } = (await cli.request("POST", "/restart", request)) as { at: string };
  if (Date.parse(at) > Date.now() + SOON_MS) return { at };
  if (cli.terminal) cli.say("Waiting for running work to finish ...");
  for (let gone = 0; gone < START_MS; await pause(100)) {
    if (pid !== undefined && lockHolder(cli.dataFolder)?.pid === pid) {
      if (await gaveUp(cli, at))
        throw fail("SVC_CLI_TASK_FAILED", { reason: "the restart was given up: work still runs (shutdown.restart.forbidOnTimeoutRestart)" });
      continue;
    }
    gone += 100;
    const note = cli.note();
    if (note !== undefined && note.pid !== pid && (await answers(cli))) return note;
  }
  throw fail("SVC_CLI_START_FAILED", { reason: `it stopped, and nothing started it anew within ${START_MS / 1000} s. ${firstWords(cli)}`, log: cli.logFile });
}

async function gaveUp(cli: Cli, since: string): Promise<boolean> {
  try {
    const { events } = (await cli.request("GET", `/events/recent?kind=status&since=${since}`)) as { events: { data?: { restart?: string } }[] };
    return events.some(({ data }) => data?.restart === "given-up");
  } catch {
    // The daemon is stopping.
    return false;
  }
}

async function answers(cli: Cli): Promise<boolean> {
  try {
    return ((await cli.request("GET", "/health")) as { state: string }).state === "running";
  } catch {
    return false;
  }
}
