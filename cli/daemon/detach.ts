import { once } from "node:events";
import { closeSync, constants, existsSync, mkdirSync, openSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { requireRestored } from "../backup/half-restored.ts";
import { type Cli, problemLine } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import { type DaemonNote, stranger } from "../own-daemon.ts";

/** Timeout of a daemon's start, in milliseconds. */
export const START_MS = 60_000;

// Not imported: a daemon in the foreground loads this file and starts no process.
const childProcess = () => process.getBuiltinModule("node:child_process");

/** Milliseconds without a lock holder after which no daemon is starting. */
const ALONE_MS = 15_000;

/** Starts the daemon in a session of its own and prints the result: up, with its problems, or why not. */
export async function startDetached(cli: Cli, flags: readonly string[]): Promise<void> {
  const note = await launch(cli, flags);
  if (note === undefined) return;
  const problems = await problemsOf(cli);
  const said = firstWords(cli);
  if (said !== "") cli.say(said);
  const lines = [`The daemon is up on http://${note.host}:${note.port} (pid ${note.pid}).`, ...problems.map(problemLine)];
  cli.print(lines.join("\n"), { ...note, problems });
}

async function problemsOf(cli: Cli): Promise<readonly string[]> {
  try {
    return ((await cli.request("GET", "/health")) as { problems: readonly string[] }).problems;
  } catch {
    // The daemon was up a moment ago; the next command reports why it is not.
    return [];
  }
}

/**
 * The file of this program by the name under which it was started: where that is a link that is switched to another release meanwhile, the
 * next process is of the new one.
 */
export function ownProgram(): string {
  const own = fileURLToPath(new URL("../../bin/svc.cjs", import.meta.url));
  const [, called] = process.argv;
  try {
    return called !== undefined && realpathSync(called) === realpathSync(own) ? called : own;
  } catch {
    return own;
  }
}

/** As `startDetached`, silent when it is up. Undefined when it ended: its last words are said and its exit code is ours. */
export async function launch(cli: Cli, flags: readonly string[]): Promise<DaemonNote | undefined> {
  requireRestored(cli);
  if (!existsSync(cli.file)) throw fail("SVC_CLI_NO_CONFIG", { file: cli.file });
  const { requireUnheld } = await import("@svc/kernel/folder");
  requireUnheld(cli.dataFolder);
  mkdirSync(cli.dataFolder, { recursive: true, mode: 0o700 });
  const errors = openEmpty(`${cli.logFile}.start`);
  const program = ownProgram();
  const began = Date.now();
  const child = childProcess().spawn(process.execPath, [program, "daemon", "start", "--foreground", "--config", cli.file, ...flags], {
    cwd: cli.folder,
    detached: true,
    stdio: ["ignore", errors, errors],
    env: { ...process.env, SVC_DETACHED: "1" },
  });
  closeSync(errors);
  let ended: { readonly code: number | null } | undefined;
  child.once("exit", (code) => {
    ended = { code };
  });
  for (let waited = 0; waited < START_MS; waited += 50) {
    const note = cli.note();
    if (note !== undefined && note.pid === child.pid) {
      child.unref();
      return note;
    }
    // Killed: its watchdog ends one that hangs, and starts the next.
    if (ended !== undefined && ended.code === null) return successor(cli, began);
    if (ended !== undefined) {
      const said = firstWords(cli);
      const { whyNoRoom } = await import("../disk-room.js");
      process.exitCode = ended.code ?? EXIT.failed;
      // On a full disk its words could not be kept.
      const why = said === "" ? (whyNoRoom(cli.dataFolder) ?? `the daemon ended with code ${ended.code}; its log is ${cli.logFile}`) : said;
      cli.say(`svc: ${why}`);
      return undefined;
    }
    await pause(50);
  }
  // It is left to go on: a large state may take longer to open.
  child.unref();
  const reason = `it did not answer within ${START_MS / 1000} s. It still starts (pid ${child.pid}); look with: svc daemon status`;
  throw fail("SVC_CLI_START_FAILED", { reason, log: cli.logFile });
}

/** A new file: not what a link of that name leads to, nor one that another user left. */
function openEmpty(file: string): number {
  const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants;
  rmSync(file, { force: true });
  return openSync(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0o600);
}

/** The daemon that the watchdog of a killed one has started. */
async function successor(cli: Cli, began: number): Promise<DaemonNote> {
  const { lockHolder } = await import("@svc/kernel/folder");
  cli.say("The daemon hung while it started and was ended by its watchdog; waiting for its successor ...");
  for (let waited = 0, alone = 0; waited < START_MS && alone < ALONE_MS; waited += 50) {
    const note = cli.note();
    const holder = lockHolder(cli.dataFolder);
    if (note !== undefined && note.startedAt >= began && note.pid === holder?.pid) return note;
    alone = holder === undefined ? alone + 50 : 0;
    await pause(50);
  }
  throw fail("SVC_CLI_START_FAILED", { reason: "it hung, was ended by its watchdog, and no successor came up.", log: cli.logFile });
}

/**
 * The program once more, as this detached process was started: same arguments, environment and log. To be called when the data folder
 * is free and this process has nothing left to do.
 */
export async function startSuccessor(): Promise<void> {
  const child = childProcess().spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], {
    detached: true,
    stdio: ["ignore", "inherit", "inherit"],
  });
  await once(child, "spawn");
  child.unref();
}

/**
 * Starts the daemon again in the terminal of this process, which waits for its end: no supervisor would restart it there. Ctrl-C and the end
 * of the terminal reach the new process directly, so only SIGTERM is forwarded.
 */
export function successorHere(): { readonly ended: Promise<number>; signal(signal: string): void } {
  const child = childProcess().spawn(process.execPath, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit" });
  return {
    ended: once(child, "exit").then(([code]) => (typeof code === "number" ? code : EXIT.failed)),
    signal: (signal) => void (signal === "SIGTERM" && child.kill(signal)),
  };
}

/** Returns the output of the newest detached daemon from before it had a log. */
export function firstWords(cli: Cli): string {
  const file = `${cli.logFile}.start`;
  return existsSync(file)
    ? readFileSync(file, "utf8")
        .trim()
        .replace(/^svc: /, "")
    : "";
}

/** Ask the daemon to stop and wait until it has. One that is stopping already is not hurried, unless `now` says so. */
export async function stopDaemon(cli: Cli, { seconds, now }: { readonly seconds: number | undefined; readonly now: boolean }): Promise<void> {
  const { lockHolder } = await import("@svc/kernel/folder");
  const holder = lockHolder(cli.dataFolder);
  if (holder === undefined) throw await stranger(cli);
  const { pid } = holder;
  const state = await stateOf(cli);
  const stopping = state === "draining";
  // On a second signal the daemon no longer waits for running work.
  if (!stopping) process.kill(pid, "SIGTERM");
  // Another signal: the same one twice may arrive once.
  if (now) process.kill(pid, "SIGINT");
  if (stopping && !now) cli.say("The daemon is stopping already and lets running tasks finish; svc daemon stop --now interrupts them.");
  else if (state === SILENT)
    cli.say(`The daemon (pid ${pid}) does not answer. If it does not end either: kill -9 ${pid}; the next start takes running work up again, if it may be.`);
  else if (cli.terminal && !now) cli.say("Waiting for running work to finish ...");
  const until = seconds === undefined ? Number.POSITIVE_INFINITY : Date.now() + seconds * 1000;
  while (lockHolder(cli.dataFolder)?.pid === pid) {
    if (Date.now() > until) throw fail("SVC_CLI_STOP_FAILED", { pid, seconds });
    await pause(50);
  }
  const interrupted = await interruptedBy(cli, pid);
  const more =
    interrupted === 0
      ? ""
      : ` ${interrupted} running ${interrupted === 1 ? "task was" : "tasks were"} interrupted; the next start takes such work up again, if it may.`;
  cli.print(`The daemon has stopped.${more}`, { stopped: true, pid, interrupted });
}

/** The state of a daemon that has the folder and does not say how it is within this time, in milliseconds. */
const SILENT = "silent";
const STATE_MS = 3_000;

/** Bounded: one that hangs is to be stopped all the same. */
async function stateOf(cli: Cli): Promise<string | undefined> {
  const patience = AbortSignal.timeout(STATE_MS);
  try {
    return ((await cli.request("GET", "/health", undefined, {}, patience)) as { state: string }).state;
  } catch {
    return patience.aborted ? SILENT : undefined;
  }
}

/** Note of a daemon that stopped for good. */
export interface StopNote {
  readonly pid: number;
  /** Tasks that were running when it ended. */
  readonly interrupted: number;
}

/** The file in which a stopping daemon leaves how its run ended, for `svc stop` to report. */
export const stopNoteOf = ({ dataFolder }: Pick<Cli, "dataFolder">): string => join(dataFolder, "stopped.json");

/** Written after the lock is released: it may take a moment. */
async function interruptedBy(cli: Cli, pid: number): Promise<number> {
  for (let waited = 0; waited < 1_000; waited += 50) {
    try {
      const note = JSON.parse(readFileSync(stopNoteOf(cli), "utf8")) as StopNote;
      if (note.pid === pid) return note.interrupted;
    } catch {
      // Not written yet, or never: a killed daemon writes none.
    }
    await pause(50);
  }
  return 0;
}
