import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { ROOT } from "../house/house.ts";
import { temporaryFolder } from "./kernel.ts";
import { storeOf } from "./test-store.ts";

/** What a run of the program said. */
export interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** The real program in a folder of its own, as a person would use it. */
export interface Shell {
  readonly folder: string;
  svc(...args: string[]): Promise<Said>;
  /** As `svc --json`, parsed. */
  json<T>(...args: string[]): Promise<T>;
  config(): Record<string, unknown>;
  write(config: unknown): void;
  /** The daemon's process id, while there is a note of it. */
  pid(): number;
  /** What the daemon answers to a GET, or to a POST of `body`: for what is awaited, or only laid out; a command is a process each time. */
  ask<T>(path: string, body?: object): Promise<T>;
  /** Ends the daemon where one runs, as `svc daemon stop --now` would, without a program of its own: for `afterEach`. */
  end(): Promise<void>;
}

const PROGRAM = join(ROOT, "cli/bin/svc.cjs");
/** After that long a daemon that does not stop is killed. */
const STOP_MS = 20_000;

/** Whether the daemon of that id is there; another program may have got the id of one that was killed. */
function runs(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("svc.cjs");
  } catch {
    return false;
  }
}

/** Ends the daemon whose note lies in the data folder; SIGTERM alone would wait for running work. */
async function endDaemon(dataFolder: string): Promise<void> {
  const note = join(dataFolder, "daemon.json");
  const pid = existsSync(note) ? (JSON.parse(readFileSync(note, "utf8")) as { pid: number }).pid : undefined;
  if (pid === undefined || !runs(pid)) return;
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.kill(pid, signal);
  for (const began = Date.now(); runs(pid); ) {
    if (Date.now() - began > STOP_MS) process.kill(pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function askDaemon(folder: string, path: string, body?: object): Promise<unknown> {
  const { port } = JSON.parse(readFileSync(join(folder, ".svc/daemon.json"), "utf8"));
  const headers = { accept: "application/json", "content-type": "application/json" };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** `given`: a folder that outlives the test; without it one that ends with it. */
export async function openShell(env: Record<string, string> = {}, given?: string): Promise<Shell> {
  const folder = given ?? (await temporaryFolder());
  const svc = (...args: string[]) =>
    new Promise<Said>((resolve) => {
      const child = spawn(process.execPath, [PROGRAM, ...args], { cwd: folder, env: { ...process.env, SVC_CONFIG: "", ...env } });
      child.stdin.end();
      let out = "";
      let err = "";
      child.stdout.on("data", (chunk) => {
        out += chunk;
      });
      child.stderr.on("data", (chunk) => {
        err += chunk;
      });
      child.on("close", (code) => resolve({ code, out, err }));
    });
  return {
    folder,
    svc,
    json: async (...args) => JSON.parse((await svc(...args, "--json")).out),
    config: () => JSON.parse(readFileSync(join(folder, "svc.json"), "utf8")),
    write: (config) =>
      writeFileSync(join(folder, "svc.json"), typeof config === "string" ? config : JSON.stringify({ ...storeOf(folder), ...(config as object) }, null, 2)),
    pid: () => JSON.parse(readFileSync(join(folder, ".svc/daemon.json"), "utf8")).pid,
    ask: async <T>(path: string, body?: object) => (await askDaemon(folder, path, body)) as T,
    end: () => endDaemon(join(folder, ".svc")),
  };
}

/** One daemon for the tests of a file that leave it as they found it: up before the first of them, ended after the last. */
export function sharedDaemon(config: object): () => Shell {
  let shell: Shell | undefined;
  beforeAll(async () => {
    shell = await openShell({}, mkdtempSync(join(tmpdir(), "svc-shared-")));
    shell.write(config);
    const { code, err } = await shell.svc("daemon", "start");
    if (code !== 0) throw new Error(err);
  });
  afterAll(async () => {
    await shell?.end();
    if (shell !== undefined) rmSync(shell.folder, { recursive: true, force: true });
  });
  return () => shell as Shell;
}

/** A configuration that listens on any free port, with an agent that says things back. */
export const echoConfig = (agent: object = {}, rest: object = {}) => ({
  node: { id: "test", name: "Test", bind: "127.0.0.1:0", defaultAgent: "echo" },
  agents: { echo: { name: "Echo", workspace: "./w", tier: "local", local: { mode: "echo" }, ...agent } },
  ...rest,
});
