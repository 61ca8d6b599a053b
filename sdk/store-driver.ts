import type { Doc, Lease, Op, Store, StoredQueue } from "./store.ts";
import type { NodeAbout, StoreMigrated, StoreNode, StoreStatus } from "./store-status.ts";
import type { StoreWork } from "./store-work.ts";

/**
 * Storage of the kernel's state: opened by a plugin of the kind `store`, or passed by an embedding program as `KernelOptions.store`. `storeContract`
 * of `@svc/sdk/testing` tests the contract of each `Store` of a driver. Everything but `scope` is optional; each member names what the kernel does
 * without it. One kernel at a time uses a driver.
 */
export interface StoreDriver {
  /** The part of one owner, `core` or a plugin's id: names of two owners never meet. The same for the same owner. */
  scope(owner: string): StoreScope;
  /**
   * Ends the leases of every queue that an earlier run of this node left: called at each start, when the process that held them is dead. A driver
   * that only one process may use ends every lease. Without it, items of a killed process wait for the end of their lease.
   */
  reclaim?(node: string): Promise<void>;
  /** `reason`, one sentence, while nothing or only deletes can be stored: shown by `/health`. Default: the store is well. */
  health?(): { readonly ok: boolean; readonly reason?: string };
  /**
   * Monotonic clock in milliseconds for pauses, leases and ages: not affected when the wall clock is set, and continued over restarts. Default: a
   * monotonic clock of the process that starts at the wall clock's time.
   */
  steady?(): number;
  /** Calls `listener` once, when no write will ever succeed again. Returns the way to stop listening. */
  onFailure?(listener: (error: Error) => void): () => void;
  /**
   * Bytes `used` by stored data, for `retention.maxMegabytes`, and bytes `free` for more before the store grows. Default: unknown, and nothing is
   * removed for its size.
   */
  size?(): { readonly used: number; readonly free?: number };
  /** Bytes that the state takes on the disk that it is on, for figures; undefined where it is in memory. Default: undefined. */
  diskBytes?(): number | undefined;
  /** Returns some free space to the disk, in a few milliseconds; false when there was none to return. Default: false. */
  shrink?(): boolean;
  /** The daemons that use the same state; only with `work`, through whose rows they share work. Default: this one alone. */
  nodes?(): Promise<readonly StoreNode[]>;
  /** Registers a function that describes this daemon to the others: called now and then, for `StoreNode.about`. Default: they know only that it exists. */
  tell?(about: () => NodeAbout): void;
  /** Unix milliseconds by the one clock of all daemons on the state: jobs by the calendar run by it. Default: the clock of this machine. */
  time?(): number;
  /**
   * Sends `values` to the other daemons on the state, and returns the values that they have sent since the last call. They are numbered from `first`
   * on; a number sent twice is deduplicated. Best effort: a crash of the state's server may lose some. Default: there are no others.
   */
  exchange?(first: number, values: readonly string[]): Promise<readonly StoreNews[]>;
  /** Wake-up hints between the daemons on the state, for immediate polls. Default: each polls now and then. */
  readonly hints?: StoreHints;
  /** Calls `listener` once, when an operator drains this daemon with `svc node drain`. */
  onDrain?(listener: () => void): void;
  /** This daemon begins nothing any more and ends as soon as what runs has: the others leave nothing to it. Default: they learn it at its end. */
  leaving?(): Promise<void>;
  /**
   * Shared work queue, where several daemons share the state; `owner` is the owner of the collections and queues that the operations of `finish`
   * name. Default: lanes in the memory of the one daemon.
   */
  work?(owner: string): StoreWork;
  /** All that is stored, in any order of names; of one name in the order of its keys, items or numbers. For `svc db copy`. */
  records?(): AsyncIterable<StoreRecord>;
  /** Imports the `records` of another store unchanged. Throws `SVC_STORE_CONFLICT` unless the store is empty. For `svc db copy`. */
  restore?(records: AsyncIterable<StoreRecord>): Promise<void>;
  /** Called when the kernel has stopped; resolves when all accepted writes are stored. Idempotent. */
  close?(): Promise<void>;
}

/** Best effort: a hint may be lost, or come without anything new. Everything must be found without one, only later. */
export interface StoreHints {
  /** Another daemon uses the state. */
  readonly others: boolean;
  /** Wakes the other daemons: there is a new event, a waiting message or a cancellation. Many calls are debounced into one hint. */
  tell(): void;
  /** Calls `listener` for each hint of another daemon. Returns the way to stop listening. */
  hear(listener: () => void): () => void;
}

/** Values that one daemon sent to the others, in its order. */
export interface StoreNews {
  /** Its number, as `StoreNode.boot`, and its name. */
  readonly boot: number;
  readonly node: string;
  readonly values: readonly string[];
  /** So many before these were not kept long enough to be read. */
  readonly missed: number;
}

/** One thing that a store keeps. `name` is `<owner>/<name>`, `value` is JSON text. Times are milliseconds from now: the clocks of two stores need not agree. */
export type StoreRecord =
  /** A collection with its declared indexes; before its documents. */
  | { readonly kind: "collection"; readonly name: string; readonly indexes: readonly string[] }
  | { readonly kind: "document"; readonly name: string; readonly key: string; readonly version: number; readonly value: string }
  | {
      readonly kind: "item";
      readonly name: string;
      readonly id: string;
      readonly group?: string;
      readonly dueInMs: number;
      /** A claim is open: neither completed nor released. */
      readonly leased: boolean;
      readonly redelivered: boolean;
      readonly attempt: number;
      readonly value: string;
    }
  /** A dedup key of a queue. */
  | { readonly kind: "seen"; readonly name: string; readonly key: string; readonly ageMs: number }
  /** A journal with the last number that it gave; before its entries. */
  | { readonly kind: "journal"; readonly name: string; readonly last: number }
  /** `at` in Unix milliseconds. */
  | { readonly kind: "entry"; readonly name: string; readonly seq: number; readonly at: number; readonly value: string };

/** One owner's state, with members that only the kernel uses. The kernel implements omitted members with `list` and `commit`, a page at a time. */
export interface StoreScope extends Omit<Store, "queue" | "lease"> {
  queue<T>(name: string): StoredQueue<T>;
  /** As `Store.lease`, where several daemons use the store. Default: granted. */
  lease?(name: string, ms: number): Promise<Lease>;
  /**
   * As `commit`, but resolves before the fsync: the write survives a killed process, but maybe not a power cut. For notes that are only needed after
   * a crash. Default: `commit`.
   */
  note?(ops: readonly Op[]): Promise<void>;
  /**
   * One step of some milliseconds through a collection from its last key to its first. A driver with it accepts dotted paths into the documents as
   * `indexes`, too.
   */
  scan?<T>(collection: string, scan: StoreScan): Promise<StoreScanned<T>>;
  /** As `scan`, for the keys alone: reads indexes and no document, some thousand keys a step. Default: `scan`. */
  scanKeys?(collection: string, scan: StoreScan): Promise<StoreScannedKeys>;
  /** Deletes the first documents of a collection, a few milliseconds' worth at most; answers how many. */
  prune?(collection: string, prune: StorePrune): Promise<number>;
  /** The key of a collection that has `count` later ones; undefined where there are fewer. */
  keyBefore?(collection: string, count: number): Promise<string | undefined>;
  /** Continues filling path indexes for documents stored before them, at most `rows`; returns their number, 0 when all are done. Default: 0. */
  fill?(collection: string, rows: number): Promise<number>;
}

/** Documents to read, by their keys from the last to the first: below a key, with these values in their indexed fields. */
export interface StoreScan {
  readonly where: Readonly<Record<string, string | number>>;
  readonly below?: string;
  readonly limit: number;
}

/** Result of one step of a scan; `below` is the key where the next step continues, absent at the end. */
export interface StoreScanned<T> {
  readonly docs: readonly Doc<T>[];
  readonly below?: string;
}

/** Result of one step of a scan of keys; `below` as in `StoreScanned`. */
export interface StoreScannedKeys {
  readonly keys: readonly string[];
  readonly below?: string;
}

/** Documents to delete: with keys from `from` and below `below`, `rows` at most, except those whose indexed `field` is `value`. */
export interface StorePrune {
  readonly from?: string;
  readonly below?: string;
  readonly spare: { readonly field: string; readonly value: string };
  readonly rows: number;
}

/**
 * Storage of the daemon's state: a plugin of the kind `store` provides one, in its `setup`. The plugin is loaded before all others, and has no
 * capability that needs the state itself.
 */
export interface ProvidedStore {
  readonly name: string;
  /** Opens the state, or makes it. Whatever it throws ends the start. */
  open(options: StoreOpening): StoreDriver | Promise<StoreDriver>;
  /** Checks the state for errors: reads it and changes nothing. Undefined if no state was stored yet. For `svc db check` and `svc doctor`. */
  check?(options: { readonly folder: string; readonly quick?: boolean }): Promise<StoreCheck | undefined>;
  /**
   * Copies a consistent snapshot of the state into the folder `to`, also while a daemon writes to it; an `open` with `to` as its folder continues
   * from there. Copies nothing if no state was stored yet. For `svc backup`.
   */
  backup?(options: { readonly folder: string; readonly to: string }): Promise<void>;
  /** Describes the state and its contents: reads it and changes nothing, also while a daemon runs. For `svc db status`. */
  status?(options: { readonly folder: string }): Promise<StoreStatus>;
  /**
   * Creates the state, or migrates it to this program's version, atomically. No daemon of the folder may run meanwhile; if one of another folder
   * does, it throws. For `svc db migrate`. Omitted: `open` does it.
   */
  migrate?(options: { readonly folder: string }): Promise<StoreMigrated>;
  /**
   * The daemons that use the state, as `StoreDriver.nodes`, also while the daemon of this folder is down. For `svc node list`; omitted where one
   * daemon uses it alone.
   */
  nodes?(options: { readonly folder: string }): Promise<readonly StoreNode[]>;
  /** Drains the daemon of that name, or cancels that; returns whether a living one has the name. For `svc node drain`. */
  drain?(options: { readonly folder: string; readonly node: string; readonly on: boolean }): Promise<boolean>;
  /** Names of its files in the data folder, which `svc backup` leaves to `backup`. */
  readonly files?: readonly string[];
}

/** Options with which the kernel opens a store. */
export interface StoreOpening {
  /**
   * The data folder, which exists and which no other process uses. Undefined: the state is in memory and lost with the driver's `close`, for an
   * embedded kernel without a data folder and for `svc doctor`.
   */
  readonly folder: string | undefined;
  /** Unix milliseconds. */
  now(): number;
}

/** Result of a check of the state. */
export interface StoreCheck {
  /** The checked file, or server without its password, for people. */
  readonly file: string;
  /** One sentence each, the gravest first; empty when the state is sound. */
  readonly problems: readonly string[];
}
