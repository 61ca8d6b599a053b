import type { Doc, Lease, Op, Store, StoredQueue } from "./store.ts";
import type { NodeAbout, StoreMigrated, StoreNode, StoreStatus } from "./store-status.ts";
import type { StoreWork } from "./store-work.ts";

/**
 * Where the kernel's state is kept: what a plugin of the kind `store` opens, or what an embedding program hands over as
 * `KernelOptions.store`. `storeContract` of `@svc/sdk/testing` says what each `Store` of a driver must hold. Everything but `scope` is
 * optional; each member names what the kernel does without it. One kernel at a time uses a driver.
 */
export interface StoreDriver {
  /** The part of one owner, `core` or a plugin's id: names of two owners never meet. The same for the same owner. */
  scope(owner: string): StoreScope;
  /**
   * Ends the leases of every queue that an earlier run of this node left: called at each start, when the process that held them is dead. A
   * driver that only one process may use ends every lease. Without it, what a killed process worked on waits for the end of its lease.
   */
  reclaim?(node: string): Promise<void>;
  /** `reason`, one sentence, while nothing or only deletes can be stored: shown by `/health`. Default: the store is well. */
  health?(): { readonly ok: boolean; readonly reason?: string };
  /**
   * Milliseconds by which pauses, leases and ages are counted: they run evenly, also when the wall clock is set, and go on over restarts.
   * Default: a clock that runs evenly within the process and starts at the wall clock's time.
   */
  steady?(): number;
  /** Calls `listener` once, when no write will ever succeed again. Returns the way to stop listening. */
  onFailure?(listener: (error: Error) => void): () => void;
  /**
   * Bytes `used` by what is stored, for `retention.maxMegabytes`, and bytes `free` for more before the store grows. Default: unknown, and
   * nothing is removed for its size.
   */
  size?(): { readonly used: number; readonly free?: number };
  /** Bytes that the state takes on the disk that it is on, for figures; undefined where it is in memory. Default: undefined. */
  diskBytes?(): number | undefined;
  /** Gives the disk back some of what is free, in a few milliseconds; false when nothing could be given. Default: false. */
  shrink?(): boolean;
  /** The daemons that use the same state; only with `work`, in whose rows they share what is to be done. Default: this one alone. */
  nodes?(): Promise<readonly StoreNode[]>;
  /** Takes who answers what this daemon tells the others: asked now and then, for `StoreNode.about`. Default: they know no more than that it is there. */
  tell?(about: () => NodeAbout): void;
  /** Unix milliseconds by the one clock of all daemons on the state: jobs by the calendar run by it. Default: the clock of this machine. */
  time?(): number;
  /**
   * Hands `values` to the other daemons on the state, and answers what they have handed over since the last call. They are numbered from `first`
   * on; a number that was handed over before is nothing new. Best effort: a crash of the state's server may lose some. Default: there are no others.
   */
  exchange?(first: number, values: readonly string[]): Promise<readonly StoreNews[]>;
  /** Wakes the other daemons on the state, and is woken by them, so that they look at once. Default: each looks now and then. */
  readonly hints?: StoreHints;
  /** Calls `listener` once, when an operator asks this daemon to end by `svc node drain`. */
  onDrain?(listener: () => void): void;
  /**
   * Who waits and who runs, where several daemons share the state; `owner` is whose collections and queues the operations of `finish` name.
   * Default: lanes in the memory of the one daemon.
   */
  work?(owner: string): StoreWork;
  /** All that is stored, in any order of names; of one name in the order of its keys, items or numbers. For `svc db copy`. */
  records?(): AsyncIterable<StoreRecord>;
  /** Stores what another store's `records` gave, as it was there. Throws `SVC_STORE_CONFLICT` where anything is stored already. For `svc db copy`. */
  restore?(records: AsyncIterable<StoreRecord>): Promise<void>;
  /** Called when the kernel has stopped; resolves when the writes that were handed over are stored. Idempotent. */
  close?(): Promise<void>;
}

/** Best effort: a hint may be lost, or come without anything new. Everything must be found without one, only later. */
export interface StoreHints {
  /** Another daemon uses the state. */
  readonly others: boolean;
  /** There is something for the others to look at: an event, a message that waits, an end that was asked for. Many calls become one hint. */
  tell(): void;
  /** Calls `listener` for each hint of another daemon. Returns the way to stop listening. */
  hear(listener: () => void): () => void;
}

/** What one daemon handed to the others, in its order. */
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
      /** A claim of it has neither ended nor given it back. */
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

/** One owner's state, with what only the kernel asks for. What a driver leaves out, the kernel does with `list` and `commit`, a page at a time. */
export interface StoreScope extends Omit<Store, "queue" | "lease"> {
  queue<T>(name: string): StoredQueue<T>;
  /** As `Store.lease`, where several daemons use the store. Default: granted. */
  lease?(name: string, ms: number): Promise<Lease>;
  /** As `commit`, resolved before the disk has it: a killed process does not undo it, a power cut may. For what is only worth knowing after a crash. Default: `commit`. */
  note?(ops: readonly Op[]): Promise<void>;
  /**
   * One step of some milliseconds through a collection from its last key to its first. A driver that has it takes dotted paths into the
   * documents as `indexes`, too.
   */
  scan?<T>(collection: string, scan: StoreScan): Promise<StoreScanned<T>>;
  /** As `scan`, for the keys alone: reads indexes and no document, some thousand keys a step. Default: `scan`. */
  scanKeys?(collection: string, scan: StoreScan): Promise<StoreScannedKeys>;
  /** Deletes the first documents of a collection, a few milliseconds' worth at most; answers how many. */
  prune?(collection: string, prune: StorePrune): Promise<number>;
  /** The key of a collection that has `count` later ones; undefined where there are fewer. */
  keyBefore?(collection: string, count: number): Promise<string | undefined>;
  /** Goes on filling the indexes over paths for documents that were stored before them, `rows` at most; answers for how many, 0 when all are. Default: 0. */
  fill?(collection: string, rows: number): Promise<number>;
}

/** Documents to read, by their keys from the last to the first: below a key, with these values in their indexed fields. */
export interface StoreScan {
  readonly where: Readonly<Record<string, string | number>>;
  readonly below?: string;
  readonly limit: number;
}

/** What one step of a scan found; `below` is the key where the next step goes on, absent at the end. */
export interface StoreScanned<T> {
  readonly docs: readonly Doc<T>[];
  readonly below?: string;
}

/** What one step of a scan of keys found; `below` as in `StoreScanned`. */
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

/** A place for the daemon's state: what a plugin of the kind `store` provides, once, in its `setup`. The plugin is loaded before all others, and has no capability that stands on state itself. */
export interface ProvidedStore {
  readonly name: string;
  /** Opens the state, or makes it. Whatever it throws ends the start. */
  open(options: StoreOpening): StoreDriver | Promise<StoreDriver>;
  /** What is wrong with the state: reads it and changes nothing. Undefined where nothing was stored yet. For `svc db check` and `svc doctor`. */
  check?(options: { readonly folder: string; readonly quick?: boolean }): Promise<StoreCheck | undefined>;
  /**
   * Copies the state as it is at one moment into the folder `to`, also while a daemon writes to it; an `open` with `to` as its folder
   * goes on from there. Copies nothing where nothing was stored yet. For `svc backup`.
   */
  backup?(options: { readonly folder: string; readonly to: string }): Promise<void>;
  /** What the state is and holds: reads it and changes nothing, also while a daemon runs. For `svc db status`. */
  status?(options: { readonly folder: string }): Promise<StoreStatus>;
  /**
   * Makes the state, or brings it to this program's version: all of it or nothing. No daemon of the folder runs meanwhile; where one of another
   * folder does, it throws. For `svc db migrate`. Left out: `open` does it.
   */
  migrate?(options: { readonly folder: string }): Promise<StoreMigrated>;
  /** The daemons that use the state, as `StoreDriver.nodes`, also while none of this folder runs. For `svc node list`; left out where one daemon uses it alone. */
  nodes?(options: { readonly folder: string }): Promise<readonly StoreNode[]>;
  /** Asks the daemon of that name to end in order, or takes that back; answers whether one that lives has it. For `svc node drain`. */
  drain?(options: { readonly folder: string; readonly node: string; readonly on: boolean }): Promise<boolean>;
  /** Names of its files in the data folder, which `svc backup` leaves to `backup`. */
  readonly files?: readonly string[];
}

/** How the kernel opens a store. */
export interface StoreOpening {
  /**
   * The data folder, which is there and which no other process uses. Undefined: the state is kept in memory and gone with the driver's
   * `close`, for an embedded kernel without a data folder and for `svc doctor`.
   */
  readonly folder: string | undefined;
  /** Unix milliseconds. */
  now(): number;
}

/** What a check of the state found. */
export interface StoreCheck {
  /** What was looked at, for people: a file, or a server without its password. */
  readonly file: string;
  /** One sentence each, the gravest first; empty when the state is sound. */
  readonly problems: readonly string[];
}
