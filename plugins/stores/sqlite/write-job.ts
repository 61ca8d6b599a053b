import type { BoundWrite } from "./table.ts";

/** One caller's writes: all of them or none. */
export interface WriteJob {
  readonly steps: readonly BoundWrite[];
  /** Resolved before the fsync: a power cut may undo it, a killed process does not. */
  readonly noted: boolean;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
  answer: unknown;
  error: unknown;
}

/** Answers the callers of jobs whose transaction stands. A job that failed in it is refused with it: what it ran into is as durable as the refusal. */
export function settle(jobs: readonly WriteJob[]): void {
  for (const job of jobs) {
    if (job.error === undefined) job.resolve(job.answer);
    else job.reject(job.error);
  }
}

/** A push with a dedup key writes two rows, so that it needs a savepoint although it is one write. */
export function isRepeatable({ write }: BoundWrite): boolean {
  return (write.op === "push" || write.op === "offer") && write.options.dedupKey !== undefined;
}

const GROWING: ReadonlySet<string> = new Set(["put", "set", "push", "offer", "append", "fill"]);

/** Does the job need room on the disk? Deletes and claims do not. */
export function grows(job: WriteJob): boolean {
  return job.steps.some(({ write }) => GROWING.has(write.op));
}
