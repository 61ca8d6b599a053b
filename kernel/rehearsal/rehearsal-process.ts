import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { fail } from "../base/errors.ts";
import type { PluginStatus } from "../core/boot/kernel-api.ts";
import type { Batch, RehearsalOptions } from "./rehearsal.ts";
import type { Finding, RehearsedTask } from "./rehearsed-task.ts";
import type { Walls } from "./walls.ts";

/** Messages of the process, a line each. */
export type Said =
  | { readonly ready: { readonly plugins: readonly PluginStatus[]; readonly findings: readonly Finding[] } }
  | { readonly fatal: { readonly code?: string; readonly message: string } }
  /** The step of the preparation that runs now. */
  | { readonly step: string }
  /** The process is ending, in the code of that plugin. */
  | { readonly leaving: { readonly plugin?: string; readonly code: number } }
  | { readonly task: RehearsedTask };

/** A rehearsal in a process of its own, which is started anew where a plugin ends it. */
export interface RehearsalProcess {
  readonly plugins: readonly PluginStatus[];
  /** Findings from setting up the plugins. */
  readonly findings: readonly Finding[];
  /** Never rejects: an end of the process becomes a finding of the task. */
  task(batch: Batch): Promise<RehearsedTask>;
  close(): Promise<void>;
}

/** Timeouts of becoming ready, and of rehearsing one task, in milliseconds. */
const LIMITS = { readyMs: 120_000, taskMs: 45_000 };
/** Upper limit of restarts of the process. */
const MOST_STARTS = 6;

/** Starts it and waits until it is ready. Throws `SVC_CONFIG_*` and other errors that keep the configuration from starting, `SVC_REHEARSAL_ENDED`. */
export async function startRehearsal(walls: Walls, options: RehearsalOptions, limits = LIMITS): Promise<RehearsalProcess> {
  let starts = 1;
  let running: Running | undefined = await begin(walls, options, limits.readyMs);
  const { plugins, findings } = running;
  const ended = (id: string, finding: Finding): RehearsedTask => ({ id, ended: "not rehearsed: the process ended", findings: [finding] });
  return {
    plugins,
    findings,
    async task(batch) {
      const [{ id }] = batch;
      if (running === undefined) {
        if (starts === MOST_STARTS) return ended(id, { plugin: "unknown", what: "process", reason: `it ended ${starts} times and is not started again` });
        starts += 1;
        try {
          running = await begin(walls, options, limits.readyMs);
        } catch (error) {
          return ended(id, { plugin: "unknown", what: "process", reason: (error as Error).message });
        }
      }
      const answer = await running.ask(batch, limits.taskMs);
      if ("plugin" in answer) {
        running = undefined;
        return ended(id, answer);
      }
      return answer.id === id ? answer : { ...answer, id };
    },
    close: async () => running?.close(),
  };
}

interface Running extends Pick<RehearsalProcess, "plugins" | "findings"> {
  ask(batch: Batch, limitMs: number): Promise<RehearsedTask | Finding>;
  close(): Promise<void>;
}

async function begin({ command, args }: Walls, options: RehearsalOptions, readyMs: number): Promise<Running> {
  const temporary = join(options.storeFolder, "tmp");
  mkdirSync(temporary, { recursive: true });
  const { PATH, HOME, LANG, TZ } = process.env;
  const env = { ...(PATH && { PATH }), ...(HOME && { HOME }), ...(LANG && { LANG }), ...(TZ && { TZ }), TMPDIR: temporary, JITI_FS_CACHE: "false" };
  const child = spawn(command, args, { env, stdio: ["pipe", "ignore", "pipe", "pipe"] });
  // The error of a program that cannot be started shows in how the first answer fails.
  child.on("error", () => undefined);
  const input = child.stdin as Writable;
  input.on("error", () => undefined);
  const last = lastWords(child.stderr as Readable);
  const exited = child.pid === undefined ? Promise.resolve() : once(child, "exit").then(() => undefined);
  const said = answers(child);
  const tell = (value: unknown) => void input.write(`${JSON.stringify(value)}\n`);
  tell(options);
  const first = await said.next(readyMs);
  if (typeof first === "string" || !("ready" in first)) {
    child.kill("SIGKILL");
    await exited;
    const { code, message } = typeof first !== "string" && "fatal" in first ? first.fatal : { code: undefined, message: `${said.why(first)} ${last()}`.trim() };
    throw code === undefined ? fail("SVC_REHEARSAL_ENDED", { reason: message }) : Object.assign(new Error(message), { code });
  }
  return {
    ...first.ready,
    async ask(batch, limitMs) {
      tell(batch);
      const answer = await said.next(limitMs);
      if (typeof answer !== "string" && "task" in answer) return answer.task;
      child.kill("SIGKILL");
      await exited;
      const plugin = typeof answer !== "string" && "leaving" in answer ? answer.leaving.plugin : undefined;
      return { plugin: plugin ?? askedLast(said.step(), first.ready.plugins), what: "process", reason: said.why(answer) };
    },
    async close() {
      input.end();
      await Promise.race([exited, pause(5_000, undefined, { ref: false })]);
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** A tap's step is called as its plugin is, unless the plugin names it. */
function askedLast(step: string | undefined, plugins: readonly PluginStatus[]): string {
  return plugins.find(({ id }) => step !== undefined && id.endsWith(`-${step}`))?.id ?? (step === undefined ? "unknown" : `of the step ${step}`);
}

type Answer = Exclude<Said, { readonly step: string }> | "late" | "ended" | "unreadable";

/** The lines of the process one after the other: code of others runs there, so nothing of them is taken for granted. */
function answers(child: ChildProcess): { next(limitMs: number): Promise<Answer>; why(answer: Answer): string; step(): string | undefined } {
  const lines = createInterface({ input: child.stdio[3] as Readable })[Symbol.asyncIterator]();
  let step: string | undefined;
  let limit = 0;
  async function read(): Promise<Answer> {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) return "ended";
      const said = saidIn(value);
      if (said === undefined) return "unreadable";
      if (!("step" in said)) return said;
      step = said.step.slice(0, 200);
    }
  }
  return {
    async next(limitMs) {
      limit = limitMs;
      const late = new AbortController();
      const timer = pause(limitMs, "late" as const, { signal: late.signal }).catch(() => "late" as const);
      try {
        return await Promise.race([read(), timer]);
      } finally {
        late.abort();
      }
    },
    why(answer) {
      if (answer === "late") return `no answer within ${limit / 1000} s`;
      if (answer === "unreadable") return "it wrote something that is no answer";
      if (typeof answer !== "string" && "leaving" in answer) return `it ended the process, with code ${answer.leaving.code}`;
      return "its process ended.";
    },
    step: () => step,
  };
}

const KINDS = ["ready", "fatal", "step", "leaving", "task"];
function saidIn(line: string): Said | undefined {
  try {
    const said = JSON.parse(line) as Record<string, unknown>;
    const [kind = "", ...more] = Object.keys(said);
    const sound =
      more.length === 0 && KINDS.includes(kind) && (kind === "step" ? typeof said[kind] === "string" : typeof said[kind] === "object" && said[kind] !== null);
    return sound ? (said as unknown as Said) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the end of its standard error. */
function lastWords(stream: Readable): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(-500);
  });
  return () => text.trim();
}
