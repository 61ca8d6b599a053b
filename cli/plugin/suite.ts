import { join } from "node:path";
import { importFile } from "@svc/kernel";
import { type Plugin, reasonOf, withTimeout } from "@svc/sdk";
import { type Runner, tortureContract } from "@svc/sdk/testing";

/** Results of the tests of a contract suite, in their order. */
export interface SuiteReport {
  readonly tests: readonly { readonly name: string; readonly error?: string }[];
}

const LIMIT_MS = 60_000;

/** Runs the default export of a package's conformance module, `(runner) => void`: a contract suite given the author's own far end. */
export async function runSuite(folder: string, module: string): Promise<SuiteReport> {
  const { default: define } = (await importFile(join(folder, module))) as { default: (runner: Runner) => void };
  return runTests(define);
}

/** Runs the robustness suite on the plugin with its sample and misbehaving far ends. */
export const runTorture = (plugin: Plugin<never>, config: unknown): Promise<SuiteReport> => runTests((runner) => tortureContract(runner, { plugin, config }));

async function runTests(define: (runner: Runner) => void): Promise<SuiteReport> {
  const tests: { name: string; run: () => Promise<void> }[] = [];
  const groups: string[] = [];
  define({
    describe(name, group) {
      groups.push(name);
      group();
      groups.pop();
    },
    it: (name, run) => tests.push({ name: [...groups, name].join(": "), run }),
  });
  const ended: { name: string; error?: string }[] = [];
  for (const { name, run } of tests) {
    const error = await failure(run);
    ended.push(error === undefined ? { name } : { name, error });
  }
  return { tests: ended };
}

async function failure(run: () => Promise<void>): Promise<string | undefined> {
  const late = (): never => {
    throw new Error(`it took longer than ${LIMIT_MS / 1000} s`);
  };
  try {
    await withTimeout(run(), LIMIT_MS, late);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}
