import type { CapabilityTypes, Store } from "@svc/sdk";
import type { RequireCapability } from "@svc/sdk/host";
import type { RootLog } from "./log.ts";
import type { ProtectedDeps } from "./protected-files.ts";

/** The plugin that a capability is made for. */
export interface CapabilityScope {
  readonly id: string;
  /** Its section of the configuration: another one after a reload. */
  readonly section: unknown;
  /** The hosts that its manifest names, where it names any. */
  readonly network?: readonly string[];
  /** Its code runs in a process of its own: nothing of this machine may be trusted from there. */
  readonly isolated: boolean;
  /** Aborts when it ends. */
  readonly signal: AbortSignal;
  readonly need: RequireCapability;
  /** Runs `dispose` when it ends. */
  onEnd(dispose: () => void): void;
}

/** Dependencies of the libraries of capabilities. Functions are called when their answer matters, so that a reload takes effect at once. */
export interface LibraryDeps {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: RootLog;
  /** The kernel's own store. */
  readonly store: Store;
  /** The daemon's own folders and files. */
  readonly files: ProtectedDeps;
  /** The live configuration. */
  config(): Readonly<Record<string, unknown>>;
}

/** A capability whose code has been loaded. */
export interface LoadedCapability<T, Scope extends CapabilityScope = CapabilityScope> {
  /** Makes it for one plugin; called once for each, at its first use. */
  make(scope: Scope): T;
  /** Called when the kernel stops: disposes of its resources. */
  close?(): Promise<void>;
}

/** Loading and construction of one capability. */
export interface CapabilityRow<T, Deps, Scope extends CapabilityScope = CapabilityScope> {
  /** An isolated plugin may declare it: `isolation/` then says how it crosses to its process. */
  readonly crosses: boolean;
  /** Runs once, before the first plugin that declares it is set up: imports its library. */
  load(deps: Deps): LoadedCapability<T, Scope> | Promise<LoadedCapability<T, Scope>>;
}

/** Rows by the names of their capabilities. */
export type CapabilityRows<Names extends keyof CapabilityTypes, Deps, Scope extends CapabilityScope = CapabilityScope> = {
  readonly [K in Names]: CapabilityRow<CapabilityTypes[K], Deps, Scope>;
};
