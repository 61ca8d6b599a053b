import { type ChildProcess, spawn } from "node:child_process";
import type { Message, Plugin } from "@svc/sdk";
import { vi } from "vitest";
import attach from "../../plugins/features/attach/index.ts";
import { baseOf, type Running, type RunOptions, runKernel } from "./kernel.ts";

/** What stands for the program of a session: a process that does nothing, and the calls of its hooks. */
export interface Program {
  readonly pid: number;
  /** The id that it shows now. */
  session: string;
  /** Calls a hook and answers with what it printed. */
  hook(name: string, fields?: Readonly<Record<string, unknown>>): Promise<string>;
  /** Asks a route that the tools and the command line use. */
  ask(path: string, body?: Readonly<Record<string, unknown>>): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>;
  /** kill -9. */
  kill(): Promise<void>;
}

const children: ChildProcess[] = [];

/** Ends the programs of a test. */
export function endPrograms(): void {
  for (const child of children.splice(0)) child.kill("SIGKILL");
}

let sessions = 0;

/** Starts the program of a session that talks to the daemon at `base`. */
export async function startProgram(base: string, session = `session-${++sessions}`): Promise<Program> {
  const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" });
  children.push(child);
  await new Promise((resolve) => child.once("spawn", resolve));
  const pid = child.pid as number;
  const program: Program = {
    pid,
    session,
    async hook(name, fields = {}) {
      const body = JSON.stringify({ session_id: program.session, cwd: "/work", transcript_path: "/t", ...fields });
      const headers = { "x-svc-pid": String(pid), "x-svc-program": "claude", "x-svc-version": "claude-code/2.1.329" };
      return (await fetch(`${base}/attach/${name}`, { method: "POST", body, headers })).text();
    },
    ask: (path, body = {}) => askAttach(base, path, { pid, ...body }),
    async kill() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGKILL");
      await ended;
    },
  };
  return program;
}

/** POST of JSON to a route under `/attach/`. */
export async function askAttach(base: string, path: string, body: Readonly<Record<string, unknown>>) {
  const response = await fetch(`${base}/attach/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A kernel with the feature, and agent `a` on a scripted tier. */
export async function runAttached(options: RunOptions = {}) {
  const running: Running = await runKernel({ listen: true, inline: [attach as unknown as Plugin<never>], ...options });
  const { kernel, message } = running;
  const base = baseOf(running.kernel);
  /** Sends a message and waits until it waits for a session. */
  async function queue(text: string, extra: Partial<Message> = {}) {
    const before = new Set(kernel.tasks.running().map(({ id }) => id));
    const result = kernel.tasks.run(message(text, { chat: text.slice(0, 100), sender: { id: "u-1", name: "bob" }, ...extra }));
    const taskId = await vi.waitFor(() => {
      const one = kernel.tasks.running().find(({ id, step }) => step === "waiting" && !before.has(id));
      return one?.id ?? Promise.reject(new Error(`${text} does not wait`));
    }, PATIENCE);
    return { result, taskId };
  }
  const bound = async (mode = "manual", agent = "a") => {
    const program = await startProgram(base);
    await program.hook("session-start", { source: "startup" });
    await program.ask("bind", { agent, mode });
    return program;
  };
  const sessions = async () => (await (await fetch(`${base}/attach/sessions`)).json()) as Record<string, unknown>[];
  return { ...running, base, queue, bound, sessions };
}

/** For conditions: longer than any of them takes. */
export const PATIENCE = { timeout: 20_000, interval: 10 };
