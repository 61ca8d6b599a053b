import type { StoreNode } from "./store-status.ts";

/** Capability `health`: current state of the daemon. */
export interface HealthReader {
  (): DaemonHealth;
  /** The daemons on the same store, including this one, the latest first; empty where one daemon uses it alone. Throws `SVC_STORE_*`. */
  nodes(): Promise<readonly StoreNode[]>;
}

/** The daemon, its work and its plugins. */
export interface DaemonHealth {
  /** The daemon runs, and can store what it accepts. */
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
  readonly uptimeSeconds: number;
  readonly tasks: { readonly running: number; readonly queued: number };
  /** `failures`: calls into it that failed since it was set up. */
  readonly plugins: readonly { readonly id: string; readonly state: string; readonly failures: number }[];
  /** Channels of running plugins; `why`: the plugin's reason for one that is not ready. */
  readonly channels?: readonly { readonly name: string; readonly state: "connecting" | "ready" | "down"; readonly why?: string }[];
  /** Where the daemon's own server listens; undefined until it does, and where the kernel is embedded and opens no port. */
  readonly listens?: { readonly host: string; readonly port: number };
  /** Of the database on disk; undefined without one. */
  readonly storeBytes?: number;
}
