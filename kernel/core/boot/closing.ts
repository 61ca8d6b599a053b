import type { Log } from "@svc/sdk";

/** One thing to close: its name for the log, and how. */
export type Closing = readonly [what: string, end: () => unknown];

/** Closes one after the other. Whoever does not close well keeps nobody else open; the first error is thrown when all have been asked. */
export async function closeAll(steps: readonly Closing[], log: Log): Promise<void> {
  const errors: unknown[] = [];
  for (const [what, end] of steps) {
    try {
      await end();
    } catch (error) {
      log.error({ err: error }, `${what} did not close`);
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
