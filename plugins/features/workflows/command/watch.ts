import { setTimeout as sleep } from "node:timers/promises";
import { type CliHost, codeOf, svcError } from "@svc/sdk";
import { EXIT, isNoDaemon, isRunId, part, read } from "./daemon-call.ts";
import { errorLine, RunLines, waitLine } from "./run-lines.ts";
import type { ShownRun, ShownTask } from "./shown.ts";

const LOOK_MS = 400;
/** Time for which a daemon may be away, for a restart, before watching gives up. */
const AWAY_MS = 60_000;
const PAGE = 1_000;

/** The run that somebody means: its own id, else the newest one of a workflow, or of all; one that has not ended first. */
export async function findRun(cli: CliHost, id: string | undefined): Promise<string> {
  if (id !== undefined && isRunId(id)) return id;
  const find = async (status?: string) => {
    const { runs } = await read<{ runs: readonly ShownRun[] }>(cli, "/runs", { summary: 1, workflow: id, status, limit: 1 });
    return runs[0]?.id;
  };
  const found = (await find("running")) ?? (await find("paused")) ?? (await find());
  if (found !== undefined) return found;
  if (id !== undefined) await read(cli, `/${part(id)}`);
  throw svcError(
    "SVC_WORKFLOW_RUN_UNKNOWN",
    id === undefined ? "No workflow has run yet." : `The workflow '${id}' has not run yet; start it with: svc workflow run ${id}`,
  );
}

/**
 * Prints what happens in a run as it happens, and what it waits for, until it ends; a restart of the daemon in between is waited for. Sets
 * the exit code: 4 where the run failed, 5 where it was canceled.
 */
export async function watchRun(cli: CliHost, runId: string): Promise<void> {
  const lines = new RunLines();
  let seen = 0;
  let waits = "";
  let away: number | undefined;
  for (;;) {
    let run: ShownRun;
    try {
      run = await read<ShownRun>(cli, `/runs/${part(runId)}`, { after: seen, limit: PAGE });
      away = undefined;
    } catch (error) {
      if (!isNoDaemon(error) && codeOf(error) !== "SVC_DAEMON_DRAINING") throw error;
      // The first look tells the truth; later ones wait for the next start.
      if (seen === 0 || (away !== undefined && Date.now() - away > AWAY_MS)) throw error;
      away ??= Date.now();
      await sleep(LOOK_MS);
      continue;
    }
    const timeline = run.timeline ?? [];
    for (const entry of timeline) {
      seen = Math.max(seen, entry.seq);
      const line = lines.of(entry);
      if (line !== undefined) cli.print(line, entry);
    }
    if (timeline.length >= PAGE) continue;
    const now = run.waits.map(({ node, iteration, kind, for: what }) => `${node}/${iteration} ${kind} ${what}`).join("\n");
    if (now !== waits) await printWaits(cli, run);
    waits = now;
    if (ended(run, cli)) return;
    await sleep(LOOK_MS);
  }
}

async function printWaits(cli: CliHost, { waits }: ShownRun): Promise<void> {
  for (const wait of waits) {
    // Waits for the daemon's own work end within moments: do not print them.
    if (wait.kind === "effect" || wait.kind === "items") continue;
    const isTask = (wait.kind === "task" || wait.kind === "incident") && wait.for !== undefined;
    const task = isTask ? await read<ShownTask>(cli, `/tasks/${part(wait.for ?? "")}`).catch(() => undefined) : undefined;
    const line = waitLine(wait, task);
    cli.print(isTask ? `${line}\n  answer it with: svc workflow submit ${wait.for}` : line, { wait });
  }
}

/** Says how it ended, and sets the exit code. */
function ended({ id, status, error }: ShownRun, cli: CliHost): boolean {
  if (status === "running" || status === "paused") return false;
  if (status === "failed") process.exitCode = EXIT.failed;
  if (status === "canceled") process.exitCode = EXIT.canceled;
  cli.print(`${id} ${status}${status === "failed" ? ` ${errorLine(error)}` : ""}`.trimEnd(), { runId: id, status, ...(error === undefined ? {} : { error }) });
  return true;
}
