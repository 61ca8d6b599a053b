import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { childEnvironment } from "../capabilities/processes/child-env.ts";
import { confine } from "../isolation/confinement.ts";
import { ISOLATION_LIMITS } from "../isolation/isolation-limits.ts";
import type { Source } from "../sources/source.ts";
import type { Observed } from "./observe.ts";

/** Report of the observer process. */
export type ObserverReport = { readonly ok: true; readonly value: Observed } | { readonly ok: false; readonly reason: string };

/** Dependencies of observing a plugin. */
export interface ObserveDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that its code must not see where there are walls for that. */
  readonly hidden: readonly string[];
  readonly limitMs: number;
}

const PROGRAM = fileURLToPath(new URL("./observer.js", import.meta.url));
/** Limits of a plugin's own descriptions; it may write to the descriptor, too. */
const MOST_BYTES = 1_048_576;
const MOST_WORDS = 2_048;

/**
 * Observes a plugin as `observe` does, in a process of its own, confined like an isolated plugin and without a network: for code that is not trusted
 * yet, whichever process it will run in. Rejects with the reason, for people.
 */
export async function observeApart(source: Source, { env, hidden, limitMs }: ObserveDeps): Promise<Observed> {
  const { closed } = await confine(source, { heapMb: ISOLATION_LIMITS.heapMb, path: env["PATH"] ?? "", hidden, program: PROGRAM });
  const child = spawn(closed.command, [...closed.args, JSON.stringify(source)], {
    cwd: closed.cwd,
    env: { ...childEnvironment(source.id, env, {}, "observed"), JITI_FS_CACHE: "false" },
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const answer = collect(child.stdio[3] as Readable, MOST_BYTES);
  const words = collect(child.stderr as Readable, MOST_WORDS);
  const end = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  };
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end();
  }, limitMs);
  try {
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    if (late) throw new Error(`it took longer than ${limitMs / 1000} s to be imported and set up; what waits or works belongs into start`);
    const report = reportIn(answer());
    if (report?.ok === true) return report.value;
    if (report?.ok === false) throw new Error(report.reason);
    if (code === 0) throw new Error("its import never ends: what its top level awaits belongs into start");
    const last = words().trim().split("\n").at(-1) ?? "";
    throw new Error(`its process ended with ${signal ?? `code ${code}`}${last === "" ? "" : `: ${last}`}`);
  } finally {
    clearTimeout(timer);
    end();
  }
}

function collect(stream: Readable, most: number): () => string {
  let text = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text = (text + chunk).slice(-most);
  });
  stream.on("error", () => undefined);
  return () => text;
}

function reportIn(text: string): ObserverReport | undefined {
  try {
    const report = JSON.parse(text) as ObserverReport;
    const lists = report.ok ? [report.value.agentKeys, report.value.capabilities, report.value.registers, report.value.things] : [];
    const sound = lists.every((list) => Array.isArray(list) && list.every((item) => typeof item === "string"));
    return sound && (report.ok ? typeof report.value.id === "string" && typeof report.value.version === "string" : typeof report.reason === "string")
      ? report
      : undefined;
  } catch {
    return undefined;
  }
}
