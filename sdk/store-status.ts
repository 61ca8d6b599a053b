/** What a store is and holds, as `svc db status` shows it. */
export interface StoreStatus {
  /** What was looked at, for people: a file, or a server without user and password. */
  readonly file: string;
  /** The version of its schema; undefined where nothing was stored yet. */
  readonly version: number | undefined;
  /** The version that this program makes and understands. */
  readonly known: number;
  /** One line for each migration that the next start would run. */
  readonly waiting: readonly string[];
  /** Bytes that it takes. */
  readonly bytes: number;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  /** How it is reached, without a password. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** The daemons that it knows, the latest first; left out by a store that one daemon uses alone. */
  readonly nodes?: readonly StoreNode[];
}

/** One run of a daemon, as the others on its store see it. */
export interface StoreNode {
  /** Its `node.id`, or how its data folder is known while it has not told that. */
  readonly name: string;
  /** Its number, which no later run has again. */
  readonly boot: number;
  readonly host: string;
  readonly pid?: number;
  /** `silent`: its lease has run out, and nobody has taken over from it yet. `draining`: it was asked to end. */
  readonly state: "alive" | "draining" | "silent" | "dead";
  /** Milliseconds since its last beat. */
  readonly beatMs: number;
  /** Milliseconds by which the clock of its machine is ahead of that of the state. */
  readonly skewMs?: number;
}

/** What a migration has done. */
export interface StoreMigrated {
  readonly file: string;
  /** The version it had; 0 where nothing was stored. */
  readonly from: number;
  readonly to: number;
  /** One line for each migration that ran, in their order. */
  readonly applied: readonly string[];
}
