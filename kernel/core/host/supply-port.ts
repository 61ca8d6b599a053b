/** A phase of a plugin's life that runs under a mark on disk. */
export type MarkedPhase = "import" | "setup" | "start";

/** Runs phases of plugins one after the other, each under its mark, so that the death of the process names exactly one of them. */
export type Marked = <T>(suspect: { readonly id: string; readonly version?: string }, phase: MarkedPhase, work: () => Promise<T>) => Promise<T>;

/** The room that remembers, in the data folder, which plugins are quarantined: kept from loading until an operator releases them. */
export interface QuarantinePart {
  readQuarantine(dataFolder: string): Readonly<Record<string, { readonly reason: string }>>;
  quarantinePlugin(dataFolder: string, plugin: string, why: { readonly phase: "run"; readonly reason: string; readonly at: string }): void;
  createMarked(dataFolder: string): Marked;
}

/** Refuses a plugin that declares or registers more than when it was trusted. Throws `SVC_PLUGIN_CHANGED`. */
export type RequireUndrifted = (capabilities: readonly string[], registers: readonly string[]) => void;

/** The room that knows which installed packages the operator trusts, and with which content. */
export interface IntegrityPart {
  /** Reads the pins of a data folder once. `requirePinned` refuses a changed package: `SVC_PLUGIN_CHANGED`, `SVC_PLUGIN_UNTRUSTED` or `SVC_PLUGIN_PINS`. */
  openPins(dataFolder: string): { requirePinned(name: string, folder: string): Promise<RequireUndrifted> };
}
