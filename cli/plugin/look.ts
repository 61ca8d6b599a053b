import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Observed } from "@svc/kernel";
import { fail } from "../errors.ts";
import type { LeakReport } from "./leaks.ts";
import type { Subject } from "./subject.ts";
import type { SuiteReport } from "./suite.ts";

/** What the child process is asked. `path`: the package's folder or the single file, absolute. */
export type ProbeTask =
  | { readonly kind: "observe"; readonly path: string; readonly folder?: string; readonly isolated: boolean }
  | { readonly kind: "leaks"; readonly path: string; readonly sample: unknown }
  | { readonly kind: "torture"; readonly path: string; readonly sample: unknown }
  | { readonly kind: "conformance"; readonly path: string; readonly module: string };

export type Probed = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

const LIMIT_MS = { observe: 30_000, leaks: 120_000, torture: 600_000, conformance: 600_000 } as const;

/** What a plugin declares and what its `setup` really registers. Throws `SVC_CLI_PLUGIN_LOOK` with the reason when it cannot be brought up. */
export function look(subject: Subject): Promise<Observed> {
  const { isolated = false } = subject;
  return probe(subject, { kind: "observe", path: pathOf(subject), isolated, ...(subject.folder === undefined ? {} : { folder: subject.folder }) });
}

/** What fifty loads and unloads leave open. */
export const leaksOf = (subject: Subject, sample: unknown): Promise<LeakReport> => probe(subject, { kind: "leaks", path: pathOf(subject), sample });

/** How it comes out of the torture that its author may run too. */
export const tortureOf = (subject: Subject, sample: unknown): Promise<SuiteReport> => probe(subject, { kind: "torture", path: pathOf(subject), sample });

/** The author's own contract suite, from the module that the package exports for it. */
export const suiteOf = (subject: Subject, module: string): Promise<SuiteReport> => probe(subject, { kind: "conformance", path: pathOf(subject), module });

/** Its package's folder or its single file, absolute. */
export const pathOf = ({ folder, file, entry }: Subject): string => folder ?? file ?? entry;

/** In a process of its own that sees nothing of the environment but PATH and HOME. */
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
    const refuse = (reason: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(fail("SVC_CLI_PLUGIN_LOOK", { plugin: subject.entry, reason }));
    };
    const timer = setTimeout(() => refuse(`it took longer than ${LIMIT_MS[task.kind] / 1000} s`), LIMIT_MS[task.kind]);
    child.once("message", (message) => {
      const probed = message as Probed;
      clearTimeout(timer);
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
