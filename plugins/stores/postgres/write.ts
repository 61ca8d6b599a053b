/** One operation of a transaction as `commit_group` reads it; names and keys as the server takes them. */
export interface Write {
  readonly o: "put" | "delete" | "prune" | "push" | "complete" | "release" | "claim" | "extend" | "append" | "trim" | "enter" | "cancel" | "finish" | "lane";
  readonly [field: string]: unknown;
}

/** A write whose fields are told when it is sent: a field may be declared between the call and its transaction. */
export type LateWrite = Write | (() => Write);

/** Writes of one caller: stored atomically. */
export interface WriteSet {
  readonly ops: readonly LateWrite[];
  /** Need not outlive a crash of the server. */
  readonly noted: boolean;
  /** Performance clock: when it was handed over. */
  readonly since: number;
  /** With the answer of the last operation. */
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}
