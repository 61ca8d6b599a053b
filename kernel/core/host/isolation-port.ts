import type { Log, Plugin } from "@svc/sdk";
import type { Source } from "../../sources/source.ts";
import type { ProcessConsequence } from "./incident.ts";

/** State of an isolated plugin's process, for `/health` and `svc plugin list`. */
export interface ProcessStatus {
  readonly state: "up" | "waiting" | "off";
  readonly pid?: number;
  /** Number of starts, and of crashes, since the plugin was set up. */
  readonly starts: number;
  readonly ends: number;
  readonly lastEnd?: string;
  /** When it is started again, in Unix milliseconds, while it waits. */
  readonly again?: number;
  /** Log lines, events and frames that were thrown away because there were too many. */
  readonly dropped: number;
}

/** Dependencies of isolation. Only `env` and `hidden` are required. */
export interface IsolationDeps {
  /** The daemon's environment. A plugin's process gets PATH, HOME, LANG, TZ, TMPDIR, TERM, and the variables that its plugin declares as `env:<NAME>`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Folders that the process must not see where it has walls for that: those of the data and of the configuration. */
  readonly hidden: readonly string[];
  /** A new process must be up within `upMs`: imported, set up and started. */
  readonly limits?: { readonly upMs?: number };
  /** Marks the processes, so that a later daemon finds those that one before it left; default one of its own. */
  readonly marker?: string;
  /** Called before each process but the first: verifies that its files may still run. Rejects with the reason. */
  verify?(): Promise<unknown>;
  /** Runs once before the plugin is set up: ends processes of an earlier daemon. */
  sweep?(log: Log): Promise<unknown>;
  /** The process ended, and is started again or given up. */
  onEnded?(consequence: ProcessConsequence, reason: string): void;
  /** The process is up again. */
  onRecovered?(): void;
  /** An error that its code left uncaught. */
  onStray?(error: unknown): void;
  readonly now?: () => number;
}

/** A plugin whose code runs in a process of its own. */
export interface Isolated {
  /** Sets up as any other does: registers the same things, whose functions ask in the process. */
  readonly plugin: Plugin<never>;
  readonly status: () => ProcessStatus;
  /** The walls around its process, for people. */
  readonly walls: readonly string[];
}

/** The room that runs plugins in processes of their own. */
export interface IsolationPart {
  isolate(source: Source, deps: IsolationDeps): Promise<Isolated>;
}
