import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Runner } from "@svc/sdk/testing";

/** How the tests of a contract suite ended, in their order. */
export interface SuiteReport {
  readonly tests: readonly { readonly name: string; readonly error?: string }[];
}

const LIMIT_MS = 60_000;

/** Runs the default export of a package's conformance module, `(runner) => void`: a contract suite given the author's own far end. */
export async function runSuite(folder: string, module: string): Promise<SuiteReport> {
  const tests: { name: string; run: () => Promise<void> }[] = [];
  const groups: string[] = [];
  const runner: Runner = {
    describe(name, define) {
      groups.push(name);
      define();
      groups.pop();
    },
    it: (name, run) => tests.push({ name: [...groups, name].join(": "), run }),
  };
  const { default: define } = (await import(pathToFileURL(join(folder, module)).href)) as { default: (runner: Runner) => void };
  define(runner);
  const ended: { name: string; error?: string }[] = [];
  for (const { name, run } of tests) {
    const error = await failure(run);
    ended.push(error === undefined ? { name } : { name, error });
  }
  return { tests: ended };
}

async function failure(run: () => Promise<void>): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it took longer than ${LIMIT_MS / 1000} s`)), LIMIT_MS);
  });
  try {
    await Promise.race([run(), late]);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(timer);
  }
}
