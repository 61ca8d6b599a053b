import type { Doc, Op, Store, SvcError } from "@svc/sdk";

/** Documents to delete: with keys from `from` and below `below`, `rows` at most, and none whose indexed `field` is `keep`. */
export interface Prune {
  readonly from?: string;
  readonly below?: string;
  readonly spare: { readonly field: string; readonly value: string };
  readonly rows: number;
}

/** Documents to read, by their keys from the last to the first: below a key, with these values in their indexed fields. */
export interface Scan {
  readonly where: Readonly<Record<string, string | number>>;
  readonly below?: string;
  readonly limit: number;
}

/** One owner's part of the state, with what only the kernel may ask for. */
export interface ScopedStore extends Store {
  /** As `commit`, but without the disk's word: a killed process does not undo it, a power cut may. For what is only worth knowing after a crash. */
  note(ops: readonly Op[]): Promise<void>;
  /** One short step through a collection from its last key to its first; `below` of the answer is where the next one goes on. */
  scan<T>(collection: string, scan: Scan): Promise<{ readonly docs: readonly Doc<T>[]; readonly below?: string }>;
  /** Deletes the first documents of a collection; answers how many. */
  prune(collection: string, prune: Prune): Promise<number>;
  /** The key of a collection that has `count` later ones; undefined where there are fewer. */
  keyBefore(collection: string, count: number): Promise<string | undefined>;
  /** Goes on filling indexes over paths, for so many documents; answers for how many, 0 when all are. */
  fill(collection: string, rows: number): Promise<number>;
}

/** The daemon's durable state, of which each owner sees its own part: what the core needs of whatever keeps it. */
export interface StateStore {
  /** The part of one owner, such as `core` or a plugin's id: its name `sessions` is `<prefix>/sessions` here. */
  scope(prefix: string): ScopedStore;
  /**
   * Ends every lease: for the daemon that has just taken the folder and so knows that whoever held them is dead. The items are
   * handed out again as `redelivered`.
   */
  reclaim(): Promise<void>;
  /** `reason`, in words, while nothing or only deletes are stored. */
  health(): { readonly ok: boolean; readonly reason?: string };
  /** Milliseconds by which pauses, leases and ages are kept: they run evenly, also when the wall clock is set, and go on over restarts. */
  steady(): number;
  /** Hears once, with `SVC_STORE_FAILED`, when the disk failed under the database: from then on every write rejects. Returns the way to stop listening. */
  onFailure(listener: (error: SvcError) => void): () => void;
  /** Bytes of the database that hold something, and bytes that are free for more without the file growing. */
  size(): { readonly used: number; readonly free: number };
  /** Gives the disk back some of what is free, a megabyte at most; false when nothing could be given. A database that an earlier version made keeps its size. */
  shrink(): boolean;
  /** Resolves when what was handed over is stored and the file is closed. Idempotent. */
  close(): Promise<void>;
}
