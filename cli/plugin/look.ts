import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Observed, Source } from "@svc/kernel";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { offlineCode } from "../kernel-code.ts";
import type { LeakReport } from "./leaks.ts";
import type { Subject } from "./subject.ts";
import type { SuiteReport } from "./suite.ts";

/** Task of the child process. `path`: the package's folder or the single file, absolute. */
export type ProbeTask =
  | { readonly kind: "leaks"; readonly path: string; readonly sample: unknown }
  | { readonly kind: "torture"; readonly path: string; readonly sample: unknown }
  | { readonly kind: "conformance"; readonly path: string; readonly module: string };

/** The answer of a probe process: the value it worked out, or why it could not. */
export type Probed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

const LIMIT_MS = { observe: 30_000, leaks: 120_000, torture: 600_000, conformance: 600_000 } as const;

/** Reads a plugin's package.json: none of its code runs. Throws `SVC_CLI_PLUGIN_LOOK` with the reason when that is invalid. */
export async function declaredOf(subject: Subject): Promise<Source> {
  const { resolveEntry } = offlineCode();
  try {
    return { ...resolveEntry(pathOf(subject), "/", []), from: "package" };
  } catch (error) {
    throw refusal(subject, (error as Error).message);
  }
}

/**
 * Observes a plugin's declarations and the actual registrations of its `setup`: its code runs behind walls, without a network. Throws
 * `SVC_CLI_PLUGIN_LOOK` with the reason when it cannot be set up.
 */
export async function look(cli: Cli, subject: Subject): Promise<Observed> {
  const { observeApart, refuseDeclared } = offlineCode();
  const source = await declaredOf(subject);
  try {
    const observed = await observeApart(source, { env: process.env, hidden: [cli.folder, cli.dataFolder], limitMs: LIMIT_MS.observe });
    if (subject.isolated === true) refuseDeclared(observed.id, observed.capabilities as Parameters<typeof refuseDeclared>[1], observed.registers);
    return observed;
  } catch (error) {
    throw refusal(subject, (error as Error).message);
  }
}

/** Measures the resources that fifty loads and unloads leave open. */
export const leaksOf = (subject: Subject, sample: unknown): Promise<LeakReport> => probe(subject, { kind: "leaks", path: pathOf(subject), sample });

/** Runs the robustness suite that its author may run too. */
export const tortureOf = (subject: Subject, sample: unknown): Promise<SuiteReport> => probe(subject, { kind: "torture", path: pathOf(subject), sample });

/** The author's own contract suite, from the module that the package exports for it. */
export const suiteOf = (subject: Subject, module: string): Promise<SuiteReport> => probe(subject, { kind: "conformance", path: pathOf(subject), module });

/** Its package's folder or its single file, absolute. */
export const pathOf = ({ folder, file, entry }: Subject): string => folder ?? file ?? entry;

const refusal = ({ entry }: Subject, reason: string) => fail("SVC_CLI_PLUGIN_LOOK", { plugin: entry, reason });

/** For its author: in a process of its own that sees nothing of the environment but PATH and HOME. */
function probe<T>(subject: Subject, task: ProbeTask): Promise<T> {
  const { PATH = "", HOME = "" } = process.env;
  const child = fork(fileURLToPath(new URL("./probe.js", import.meta.url)), [], {
    cwd: subject.folder ?? "/",
    env: { PATH, HOME },
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let said = "";
  child.stderr?.on("data", (chunk) => {
    said = (said + chunk).slice(-2_048);
  });
  return new Promise((resolve, reject) => {
    let beat = Date.now();
    const refuse = (reason: string): void => {
      clearTimeout(timer);
      clearInterval(watch);
      child.kill("SIGKILL");
      reject(refusal(subject, reason));
    };
    const timer = setTimeout(() => refuse(`it took longer than ${LIMIT_MS[task.kind] / 1000} s`), LIMIT_MS[task.kind]);
    const watch = setInterval(() => {
      if (Date.now() - beat > SILENT_MS) refuse(`it held the loop of its process for ${SILENT_MS / 1000} s: a daemon would end and hold it back`);
    }, BEAT_MS);
    child.on("message", (message) => {
      beat = Date.now();
      if (message === BEAT) return;
      const probed = message as Probed;
      clearTimeout(timer);
      clearInterval(watch);
      if (probed.ok) resolve(probed.value as T);
      else refuse(probed.reason);
    });
    child.once("error", (error) => refuse(error.message));
    child.once("exit", (code, signal) =>
      refuse(`its process ended with ${signal ?? `code ${code}`}${said === "" ? "" : `: ${said.trim().split("\n").at(-1)}`}`),
    );
    child.send(task);
  });
}

/** Heartbeat of the child, while its event loop is not blocked. */
export const BEAT = "beat";
/** Milliseconds between two signs of life of a probe process. */
export const BEAT_MS = 250;
/** As long as a daemon's watchdog waits, and time for its start on a busy machine. */
const SILENT_MS = 15_000;
