import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import { type DaemonNote, stranger } from "../own-daemon.ts";

/** How long a daemon may take to come up, in milliseconds. */
export const START_MS = 60_000;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Start the daemon in a session of its own and print its verdict: up, or why not. */
export async function startDetached(cli: Cli, flags: readonly string[]): Promise<void> {
  const note = await launch(cli, flags);
  if (note !== undefined) cli.print(`The daemon is up on http://${note.host}:${note.port} (pid ${note.pid}).`, note);
}

/** As `startDetached`, silent when it is up. Undefined when it ended: its last words are said and its exit code is ours. */
export async function launch(cli: Cli, flags: readonly string[]): Promise<DaemonNote | undefined> {
  if (!existsSync(cli.file)) throw fail("SVC_CLI_NO_CONFIG", { file: cli.file });
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const errors = openSync(`${cli.logFile}.start`, "w", 0o600);
  const program = fileURLToPath(new URL("../../bin/svc.mjs", import.meta.url));
  const child = spawn(process.execPath, [program, "daemon", "start", "--foreground", "--config", cli.file, ...flags], {
    cwd: cli.folder,
    detached: true,
    stdio: ["ignore", errors, errors],
    env: { ...process.env, SVC_DETACHED: "1" },
  });
  closeSync(errors);
  let ended: number | null | undefined;
  child.once("exit", (code) => {
    ended = code;
  });
  for (let waited = 0; waited < START_MS; waited += 50) {
    const note = cli.note();
    if (note !== undefined && note.pid === child.pid) {
      child.unref();
      return note;
    }
    if (ended !== undefined) {
      const said = firstWords(cli);
      process.exitCode = ended ?? EXIT.failed;
      cli.say(`svc: ${said === "" ? `the daemon ended with code ${ended}; its log is ${cli.logFile}` : said}`);
      return undefined;
    }
    await pause(50);
  }
  throw fail("SVC_CLI_START_FAILED", { reason: `it did not answer within ${START_MS / 1000} s.`, log: cli.logFile });
}

/**
 * The program once more, as this detached process was started: same arguments, environment and log. To be called when the data folder
 * is free and this process has nothing left to do.
 */
export async function startSuccessor(): Promise<void> {
  const child = spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { detached: true, stdio: ["ignore", "inherit", "inherit"] });
  await once(child, "spawn");
  child.unref();
}

/** What the newest detached daemon said before it had a log. */
export function firstWords(cli: Cli): string {
  const file = `${cli.logFile}.start`;
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .replace(/^svc: /, "")
    : "";
}

/** Ask the daemon to stop and wait until it has. */
export async function stopDaemon(cli: Cli, seconds: number | undefined): Promise<void> {
  const { lockHolder } = await import("@svc/kernel");
  const holder = lockHolder(cli.dataFolder);
  if (holder === undefined) throw await stranger(cli);
  const { pid } = holder;
  process.kill(pid, "SIGTERM");
  if (cli.terminal) cli.say("Waiting for running work to finish ...");
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : Date.now() + seconds * 1000;
  while (lockHolder(cli.dataFolder)?.pid === pid) {
    if (Date.now() > until) throw fail("SVC_CLI_STOP_FAILED", { pid, seconds });
    await pause(50);
  }
  cli.print("The daemon has stopped.", { stopped: true, pid });
}
