import { spawn } from "node:child_process";
import { readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { lockHolder } from "@svc/kernel/folder";
import { INSTANCE_EXPECTED, readInstance } from "@svc/kernel/instance";
import { ask } from "../client.ts";
import { type DaemonNote, readNote } from "../own-daemon.ts";

/** The daemon of the folder that is deployed to, seen from its own machine. */
export interface FarDaemon {
  /** Its process, while one holds the data folder. */
  pid(): number | undefined;
  note(): DaemonNote | undefined;
  /** Runs the program that `current` leads to. `signal` ends it. */
  svc(args: readonly string[], signal?: AbortSignal): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }>;
  /** Ends when no process has held the data folder for a while, or with `signal`. */
  deserted(signal: AbortSignal): Promise<void>;
  /** Returns the first output of a daemon that did not come up. */
  lastWords(): string;
  /** Undefined once a daemon other than `not` runs that release and is healthy; else why not. */
  sickness(release: string, not: number | undefined): Promise<string | undefined>;
  /** Waits up to `seconds` for that; gives up early where no process is starting. Undefined when it is well; else why not. */
  well(release: string, not: number | undefined, seconds: number): Promise<string | undefined>;
  /** Ends a daemon that is not wanted, by force in the end. */
  end(): Promise<void>;
}

const LOOK_MS = 100;
/** A new daemon must stay healthy this long, in milliseconds. */
const SETTLE_MS = 2_000;
/** Time without a process, while none is starting, after which the daemon counts as down. */
const ALONE_MS = 15_000;
const HEALTH_MS = 3_000;
const END_MS = 20_000;

/** The program within a release. */
export const programIn = (release: string): string => join(release, "node_modules/@svc/cli/bin/svc.cjs");

/** The daemon of `folder`. Nothing is opened yet. */
export function farDaemon(folder: string): FarDaemon {
  const dataFolder = join(folder, ".svc");
  const pid = () => lockHolder(dataFolder)?.pid;
  const note = () => readNote(dataFolder);
  const sickness = async (release: string, not: number | undefined): Promise<string | undefined> => {
    const running = pid();
    if (running === undefined || running === not) return "no new daemon has come up";
    const said = note();
    if (said?.pid !== running) return "the new daemon is starting and does not answer yet";
    if (said.program === undefined || !isOf(said.program, folder, release)) return `the daemon that runs (pid ${running}) is not of this release`;
    try {
      const signal = AbortSignal.timeout(HEALTH_MS);
      const health = (await ask({ host: said.host, port: said.port }, "GET", "/health", undefined, { signal, headers: instanceOf(dataFolder) })) as {
        readonly state: string;
        readonly pid: number;
      };
      return health.state === "running" && health.pid === running ? undefined : `the new daemon is ${health.state}`;
    } catch (error) {
      return `the new daemon does not answer: ${(error as Error).message}`;
    }
  };
  return {
    pid,
    note,
    svc: (args, signal) => run(folder, args, signal),
    async deserted(signal) {
      for (let alone = 0; alone < ALONE_MS && !signal.aborted; alone = pid() === undefined ? alone + LOOK_MS : 0) await pause(LOOK_MS);
    },
    lastWords() {
      try {
        return readFileSync(join(dataFolder, "daemon.log.start"), "utf8")
          .trim()
          .replace(/^svc: /, "")
          .split("\n")
          .slice(0, 3)
          .join(" ");
      } catch {
        return "";
      }
    },
    sickness,
    async well(release, not, seconds) {
      const until = Date.now() + seconds * 1_000;
      let reason: string | undefined = "no new daemon has come up";
      for (let since: number | undefined, alone = Date.now(); Date.now() < until; await pause(LOOK_MS)) {
        reason = await sickness(release, not);
        if (reason === undefined) {
          since ??= Date.now();
          if (Date.now() - since >= SETTLE_MS) return undefined;
        } else since = undefined;
        if (pid() !== undefined) alone = Date.now();
        else if (Date.now() - alone > ALONE_MS) return reason;
      }
      return reason ?? "the new daemon was healthy too short a time";
    },
    async end() {
      const running = pid();
      if (running === undefined) return;
      await signal(running, "SIGTERM");
      await signal(running, "SIGINT");
      for (let waited = 0; pid() === running; waited += LOOK_MS) {
        if (waited >= END_MS) await signal(running, "SIGKILL");
        await pause(LOOK_MS);
      }
    },
  };
}

async function signal(pid: number, name: NodeJS.Signals): Promise<void> {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended.
  }
}

function instanceOf(dataFolder: string): Record<string, string> {
  const own = readInstance(dataFolder);
  return own === undefined ? {} : { [INSTANCE_EXPECTED]: own };
}

/** Does that program lie in the release? */
export function isOf(program: string, folder: string, release: string): boolean {
  try {
    return `${realpathSync(program)}`.startsWith(`${realpathSync(join(folder, "releases", release))}/`);
  } catch {
    return false;
  }
}

function run(folder: string, args: readonly string[], signal?: AbortSignal): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const program = programIn(join(folder, "current"));
    // The daemon must not inherit SVC_CONFIG and the task id from a user's shell.
    const { SVC_CONFIG: _config, SVC_TASK_ID: _task, ...env } = process.env;
    const child = spawn(process.execPath, [program, ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env,
      ...(signal === undefined ? {} : { signal }),
    });
    let out = "";
    let err = "";
    child.stdout.on("data", (chunk) => {
      out += chunk;
    });
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    child.once("error", (error) => resolve({ code: null, out, err: error.message }));
    child.once("close", (code) => resolve({ code, out, err }));
  });
}
