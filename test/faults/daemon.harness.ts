import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";
import { storeOf } from "../kit/test-store.ts";

/** The real daemon in a process of its own, to be killed, starved or lied to. */
export interface DaemonProcess {
  readonly port: number;
  readonly pid: number;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly ended: Promise<number | string>;
  /** What it has written to standard error. */
  said(): string;
  /** Ends it and waits until it is gone. */
  kill(signal?: NodeJS.Signals): Promise<void>;
}

export interface DaemonOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What runs it, such as strace with its options. */
  readonly prefix?: readonly string[];
  /** Where the program is: this repository, unless another build of it is meant. */
  readonly root?: string;
}

const running = new Set<DaemonProcess>();

/** For `afterEach`: ends what a failed test left running. */
export async function endDaemons(): Promise<void> {
  await Promise.all([...running].map((daemon) => daemon.kill("SIGKILL")));
}

/** A daemon that may or may not come up. */
export interface Launched {
  /** Of what was started: the daemon itself, unless a prefix runs it. */
  readonly pid: number;
  readonly ended: Promise<number | string>;
  readonly gone: boolean;
  said(): string;
}

/** Starts the daemon of `folder`, which holds a svc.json. */
export function launch(folder: string, { env = {}, prefix = [], root = ROOT }: DaemonOptions = {}): Launched {
  const [command, ...args] = [...prefix, process.execPath, programOf(root), "daemon", "start", "--foreground"];
  const child: ChildProcess = spawn(command as string, args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, SVC_CONFIG: "", SVC_LOG_LEVEL: "warn", ...env },
  });
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  let gone = false;
  const ended = once(child, "close").then(([code, signal]) => {
    gone = true;
    return (code ?? signal) as number | string;
  });
  return {
    pid: child.pid as number,
    ended,
    get gone() {
      return gone;
    },
    said: () => errors,
  };
}

/** The program of a build, which may be of an earlier commit. */
function programOf(root: string): string {
  const { bin } = JSON.parse(readFileSync(join(root, "cli/package.json"), "utf8")) as { bin: { svc: string } };
  return join(root, "cli", bin.svc);
}

/** As `launch`, and waits until it listens. Rejects with what it said when it ends before. */
export async function startDaemon(folder: string, options: DaemonOptions = {}): Promise<DaemonProcess> {
  const note = join(folder, ".svc/daemon.json");
  rmSync(note, { force: true });
  const launched = launch(folder, options);
  const { ended, said } = launched;
  for (;;) {
    const found = readNote(note);
    if (found !== undefined) {
      const daemon: DaemonProcess = {
        ...found,
        ended,
        said,
        async kill(signal = "SIGKILL") {
          try {
            process.kill(found.pid, signal);
          } catch {
            // It is gone already.
          }
          await ended;
          running.delete(daemon);
        },
      };
      running.add(daemon);
      return daemon;
    }
    if (launched.gone) throw new Error(`the daemon ended with ${await ended}: ${said()}`);
    await pause(10);
  }
}

/** Where a daemon says that it listens. */
export function readNote(file: string): { pid: number; port: number } | undefined {
  try {
    const { pid, port } = JSON.parse(readFileSync(file, "utf8"));
    return { pid, port };
  } catch {
    return undefined;
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes svc.json: any free port, work resumed however often the daemon is killed, and `more`. */
export function writeConfig(folder: string, more: Record<string, unknown> = {}): void {
  const config = {
    node: { id: "faults", name: "Faults", bind: "127.0.0.1:0", defaultAgent: "echo" },
    agents: { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" }, maxConcurrent: 32 } },
    resume: { maxAttempts: 100_000, maxAgeMinutes: 600, crashLoop: { restarts: 100_000, windowMinutes: 1 } },
    ...storeOf(folder),
    ...more,
  };
  writeFileSync(join(folder, "svc.json"), JSON.stringify(config, null, 2));
}

/** GET or POST JSON. Rejects when the connection breaks. */
export async function ask<T>(port: number, path: string, body?: unknown): Promise<{ status: number; headers: Headers; body: T }> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    headers: { accept: "application/json", connection: "close", ...(body === undefined ? {} : { "content-type": "application/json" }) },
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}

/** Writes until the thread that empties the database's log has begun: what a daemon has open is counted after that. Nothing where it has another store. */
export async function logThread({ port }: DaemonProcess, folder: string): Promise<void> {
  const file = join(folder, ".svc/svc.db");
  if (!existsSync(file)) return;
  while (statSync(file).size < 1_048_576) await ask(port, "/task", { agent: "echo", message: "x".repeat(100_000) });
}

/** Hands a message over and resolves with its task's id as soon as that is acknowledged; the answer is not waited for. Rejects when it is not acknowledged. */
export function handOver(port: number, body: unknown, key: string): Promise<{ readonly taskId: string; readonly duplicate: boolean }> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(text), "idempotency-key": key };
    const sent = request({ host: "127.0.0.1", port, method: "POST", path: "/task", headers, agent: false }, (response: IncomingMessage) => {
      let said = "";
      response.setEncoding("utf8");
      response.on("error", () => {});
      response.on("close", () => reject(new Error(`no acknowledgement: ${response.statusCode} ${said}`)));
      response.on("data", (chunk: string) => {
        said += chunk;
        if ((response.statusCode ?? 500) >= 400) return;
        const accepted = /^event: accepted\ndata: (.*)\n\n/m.exec(said)?.[1];
        if (accepted !== undefined) {
          resolve({ duplicate: false, ...JSON.parse(accepted) });
          sent.destroy();
        } else if (said.startsWith("{") && said.endsWith("}")) resolve(JSON.parse(said));
      });
    });
    sent.on("error", reject);
    sent.end(text);
  });
}

/** Why a program of the system cannot be used here; undefined when it can. */
export function lacks(program: string, ...args: string[]): string | undefined {
  const tried = spawnSync(program, args, { encoding: "utf8" });
  if (tried.error !== undefined) return `${program} is not installed`;
  return tried.status === 0 ? undefined : `${program} may not work here: ${tried.stderr.trim().split("\n").at(-1)}`;
}

/** Whether a file of the system is there, such as a library to be preloaded. */
export const firstOf = (files: readonly string[]): string | undefined => files.find((file) => existsSync(file));
