/** A stored document with its version, which grows by one at each put and starts at 1. */
export interface Doc<T> {
  readonly key: string;
  readonly value: T;
  readonly version: number;
}

/** JSON documents by key. */
export interface Collection<T> {
  get(key: string): Promise<Doc<T> | undefined>;
  /**
   * By key, or by one declared index (`where` names it), ascending unless `reverse`; at most `limit` (default 100, maximum 1000). `after` is the
   * cursor, the key of the last document of the previous page; throws `SVC_STORE_CURSOR` when an index is used and that document no longer exists.
   */
  list(query?: Query): Promise<readonly Doc<T>[]>;
  count(query?: Pick<Query, "where" | "by" | "from" | "to">): Promise<number>;
  /** Writes and resolves with the new version after the commit. Throws `SVC_STORE_CONFLICT` when `expect` does not hold. */
  put(key: string, value: T, expect?: Expect): Promise<number>;
  delete(key: string, expect?: Expect): Promise<void>;
}

/** Filter and order of a listing of a collection. */
export interface Query {
  /** Equality on declared indexes. */
  readonly where?: Readonly<Record<string, string | number | null>>;
  /** Order and range by this declared index instead of the key. Documents without the field are excluded. */
  readonly by?: string;
  /** From this value on, up to but without `to`. */
  readonly from?: string | number;
  readonly to?: string | number;
  readonly after?: string;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/** A condition on a write: the version that must be there, or `"absent"`. */
export type Expect = number | "absent";

/** An item taken from a queue. */
export interface Claimed<T> {
  readonly id: string;
  readonly value: T;
  /** 1 at the first claim, incremented at each further claim; counted before the item is returned, so a crash does not undo it. */
  readonly attempt: number;
  /** The item was claimed before and its lease ran out or the process died. */
  readonly redelivered: boolean;
}

/** A queue as a store keeps it. */
export interface StoredQueue<T> {
  /** Resolves after the commit. With a `dedupKey` seen before (kept 7 days) nothing is added and the answer is `undefined`. */
  push(value: T, options?: PushOptions): Promise<string | undefined>;
  /**
   * Up to `limit` items that are due, leased for `leaseMs`. A lease ends with the daemon too: items that a killed daemon had leased are due again at
   * the next start. A plugin that is only stopped gives its items back with `release`, or they wait for the end of their lease.
   */
  claim(limit: number, leaseMs: number): Promise<readonly Claimed<T>[]>;
  /** Completes the item: it is removed and its group continues. An unknown id is not an error. */
  complete(id: string): Promise<void>;
  /** Releases the item, due again after `delayMs`. `value` replaces the stored value. */
  release(id: string, delayMs: number, value?: T): Promise<void>;
  /**
   * Renews the lease to end `leaseMs` from now. False when that attempt no longer holds the item: it was claimed again, released or completed. An
   * expired lease can be renewed until another attempt claims the item.
   */
  extend(id: string, attempt: number, leaseMs: number): Promise<boolean>;
  /**
   * Milliseconds until a `claim` may find an item: 0 when one is due, undefined when the queue is empty. Counts delays and leases, and only items
   * that no earlier one of their group blocks.
   */
  nextDue(): Promise<number | undefined>;
  /** Number of unfinished items, claimed ones too: all, or those of a group. */
  size(group?: string): Promise<number>;
  /** Unfinished items, oldest first, claimed ones too. */
  list(limit?: number): Promise<readonly (Claimed<T> & { readonly dueAt: number; readonly group?: string })[]>;
}

/** Durable queue, first in first out within a `group`; an item of a group is not handed out while an earlier one of it is unfinished. */
export interface Queue<T> extends StoredQueue<T> {
  /**
   * Starts a worker: claims due items and runs `handler` on each, until `stop` or the end of the plugin. It polls at once, at each push and commit of
   * this plugin that touches the queue, and when the next item is due. The lease is renewed while a handler runs, however long it takes; `signal`
   * aborts when the worker has lost the item (another attempt has it) or stops. A handler that returns completes its item; one that throws is retried
   * with exponential backoff, after a stop without a pause. Delivery is at least once: effects that must happen once belong into a `commit` with
   * `complete(queue, item.id, item.attempt)`, or with `release`.
   */
  work(handler: (item: Claimed<T>, signal: AbortSignal) => Promise<void> | void, options?: WorkOptions<T>): QueueWork;
}

/** Options of a queue worker. */
export interface WorkOptions<T> {
  /** Milliseconds after which an item of a dead worker is handed out again; default 60,000. */
  readonly leaseMs?: number;
  /** Items worked on side by side; default 1. */
  readonly parallel?: number;
  /** Milliseconds after which an item whose handler threw is due again; doubles with each attempt up to 10 minutes. Default 1,000. */
  readonly retryMs?: number;
  /** Called when a handler threw or, without `item`, the queue could not be read, with the pause before the retry. Default: a warning in the log. */
  readonly failed?: (error: unknown, item: Claimed<T> | undefined, pauseMs: number) => void;
}

/** A worker of a queue. */
export interface QueueWork {
  /** Polls the queue now: for an item that was added by other means. */
  wake(): void;
  /** Stops claiming, aborts the handlers, and resolves when they have ended: unfinished items are due at once. A handler must not await it. */
  stop(): Promise<void>;
}

/** Options of an item that enters a queue. */
export interface PushOptions {
  readonly id?: string;
  readonly group?: string;
  readonly delayMs?: number;
  readonly dedupKey?: string;
}

/** Append-only entries in order. */
export interface Journal<T> {
  append(value: T): Promise<number>;
  /** Entries after sequence number `after` (0 for all), oldest first, at most `limit` (default 100, maximum 1000). */
  read(after: number, limit?: number): Promise<readonly { readonly seq: number; readonly at: number; readonly value: T }[]>;
  tail(limit: number): Promise<readonly { readonly seq: number; readonly at: number; readonly value: T }[]>;
  /** Drop all but the newest `keep` entries. */
  trim(keep: number): Promise<void>;
}

/** One write of a transaction. Plain data: build it with the functions below. */
export type Op =
  | { readonly op: "put"; readonly collection: string; readonly key: string; readonly value: unknown; readonly expect?: Expect }
  | { readonly op: "delete"; readonly collection: string; readonly key: string; readonly expect?: Expect }
  | { readonly op: "push"; readonly queue: string; readonly id: string; readonly value: unknown; readonly options: PushOptions }
  | { readonly op: "complete"; readonly queue: string; readonly id: string; readonly attempt?: number }
  | { readonly op: "release"; readonly queue: string; readonly id: string; readonly delayMs: number; readonly attempt?: number; readonly value?: unknown }
  | { readonly op: "append"; readonly journal: string; readonly value: unknown };

/**
 * Durable state (capability `store`). Names are private to the plugin: lower-case letters, digits, `-`, `_`, `.`. A resolved write survives `kill -9`
 * and a power cut: writes of one tick share one transaction and resolve after its fsync.
 */
export interface Store {
  /** Several daemons may use it at the same time. Absent in a store that one uses alone, and in an isolated plugin. */
  readonly shared?: boolean;
  /** `indexes` are top-level fields of the document holding a string or a number. Declared once; adding one later is a migration done at open. */
  collection<T>(name: string, options?: { readonly indexes?: readonly string[] }): Collection<T>;
  queue<T>(name: string): Queue<T>;
  journal<T>(name: string): Journal<T>;
  /**
   * All of `ops` or none, in order, resolved after the commit. Throws `SVC_STORE_CONFLICT` (with `index`, the op that failed) when an `expect` does
   * not hold, a `dedupKey` was seen before, or the `attempt` of a `complete` or a `release` is not the current one.
   */
  commit(ops: readonly Op[]): Promise<void>;
  /**
   * Requests a lease for work that only one daemon at a time may do, under a name of the plugin's; retried automatically while it is not held. `ms`
   * is how long a dead daemon keeps it. With a store that one daemon uses alone, such as the one in the data folder, it is always granted.
   */
  lease(name: string, ms: number): Promise<Lease>;
}

/** Something that one daemon at a time may do. */
export interface Lease {
  /** This daemon holds the lease. */
  readonly held: boolean;
  /** The node that holds it instead, if the store knows it. */
  readonly holder?: string;
  /**
   * Aborts when this daemon no longer holds the lease: it was lost or released, the plugin ends, or the store closes. Aborted from the start if it is
   * not held.
   */
  readonly signal: AbortSignal;
  /** Gives it back, so that another daemon gets it at once. Idempotent. */
  release(): Promise<void>;
}

/** Builds a `put` for `Store.commit`. */
export const put = (collection: string, key: string, value: unknown, expect?: Expect): Op =>
  expect === undefined ? { op: "put", collection, key, value } : { op: "put", collection, key, value, expect };
/** Builds a `delete` for `Store.commit`. A missing document is not an error unless `expect` says so. */
export const remove = (collection: string, key: string, expect?: Expect): Op =>
  expect === undefined ? { op: "delete", collection, key } : { op: "delete", collection, key, expect };
/** Builds a queue push for `Store.commit`. */
export const push = (queue: string, id: string, value: unknown, options: PushOptions = {}): Op => ({ op: "push", queue, id, value, options });
/**
 * Builds a queue completion for `Store.commit`. With the `attempt` of the claim the commit is a conflict once the item was claimed again, released or
 * completed: a worker that overran its lease cannot store its result beside that of the next attempt.
 */
export const complete = (queue: string, id: string, attempt?: number): Op =>
  attempt === undefined ? { op: "complete", queue, id } : { op: "complete", queue, id, attempt };
/**
 * Builds a queue release for `Store.commit`: the item is due again after `delayMs`, with a new `value` if it is set. With the `attempt` of the claim
 * the commit is a conflict once that attempt has lost the item.
 */
export const release = (
  queue: string,
  id: string,
  { delayMs, attempt, value }: { readonly delayMs: number; readonly attempt?: number; readonly value?: unknown },
): Op => ({
  op: "release",
  queue,
  id,
  delayMs,
  ...(attempt === undefined ? {} : { attempt }),
  ...(value === undefined ? {} : { value }),
});
/** Builds a journal append for `Store.commit`. */
export const append = (journal: string, value: unknown): Op => ({ op: "append", journal, value });
