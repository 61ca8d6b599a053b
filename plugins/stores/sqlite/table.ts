import type { Op, StorePrune } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Operations of a transaction: those of the plugin contract, and those behind a queue's and a journal's own methods. */
export type Write =
  | Op
  /** A put that answers with the new version. */
  | { readonly op: "set"; readonly collection: string; readonly key: string; readonly value: unknown; readonly expect?: number | "absent" | undefined }
  /** A push that answers `undefined` to a `dedupKey` seen before, where `push` is a conflict. */
  | {
      readonly op: "offer";
      readonly queue: string;
      readonly id: string;
      readonly value: unknown;
      readonly options: { readonly group?: string; readonly delayMs?: number; readonly dedupKey?: string };
    }
  | { readonly op: "claim"; readonly queue: string; readonly limit: number; readonly leaseMs: number }
  /** Answers whether that attempt still had the item. */
  | { readonly op: "extend"; readonly queue: string; readonly id: string; readonly attempt: number; readonly leaseMs: number }
  | { readonly op: "reclaim"; readonly queue: string }
  | { readonly op: "trim"; readonly journal: string; readonly keep: number }
  /** Deletes the first documents in order of their keys, and answers how many. */
  | ({ readonly op: "prune"; readonly collection: string } & StorePrune)
  /** Fills an index over a path for documents from before it was declared, and answers for how many. */
  | { readonly op: "fill"; readonly collection: string; readonly rows: number };

/** A value as it is bound to a statement. */
export type Bound = string | number | null;

/** A write ready to be applied: its value is text already, so that what the caller changes afterwards is not stored. */
export interface BoundWrite {
  readonly write: Write;
  readonly table: Table;
  readonly bound: readonly Bound[];
}

/** One collection, queue or journal on disk. */
export interface Table {
  /** The full name, scope included. */
  readonly name: string;
  /** Its schema is on disk and committed. */
  created: boolean;
  /** Brings what it declares to disk, inside the transaction. Idempotent. */
  create(): void;
  /** Returns the bound values of `write`. Throws `SVC_STORE_VALUE` for values that are not JSON. */
  bind(write: Write): readonly Bound[];
  /** Applies a write inside the transaction; throws `SVC_STORE_CONFLICT`, after which what it changed must be rolled back. */
  apply(write: Write, bound: readonly Bound[]): unknown;
}

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

/** Names become table names, which SQLite compares without case. */
const NAME = /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/;

/** `name` itself. Throws `SVC_STORE_NAME` for one that cannot name stored state. */
export function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw fail("SVC_STORE_NAME", { name });
}

/** `value` as JSON text. Throws `SVC_STORE_VALUE` for what has none: undefined, a cycle, a bigint. */
export function jsonText(value: unknown, collection: string, key: string): string {
  let reason = "it is undefined or a function";
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (error) {
    reason = (error as Error).message;
  }
  throw fail("SVC_STORE_VALUE", { collection, key, reason });
}

/** At most 1000 rows an answer, whatever was asked for. */
export function rowLimit(limit = 100): number {
  return Math.max(0, Math.min(1000, Math.trunc(limit)));
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
