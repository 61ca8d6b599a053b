import { withTimeout } from "../time.ts";

/** The two functions of any test runner that a contract suite needs: pass those of vitest, `node:test` or another. */
export interface Runner {
  describe(name: string, define: () => void): unknown;
  it(name: string, run: () => Promise<void>): unknown;
}

/** Resolves with `promise`, or rejects after `ms` with an error that names `what`. */
export function inTime<T>(ms: number, what: string, promise: Promise<T>): Promise<T> {
  return withTimeout(promise, ms, () => {
    throw new Error(`${what} took longer than ${ms} ms`);
  });
}
