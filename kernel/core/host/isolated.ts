import type { Log } from "@svc/sdk";
import { folderMark } from "../../base/process-identity.ts";
import { importPlugin } from "./code.ts";
import type { Entry, ImportCode, PhaseLimits } from "./entry.ts";
import type { HostSources } from "./host.ts";
import type { IsolationDeps } from "./isolation-port.ts";

/** What becomes of the process of an entry. */
export interface IsolatedEvents {
  onState(entry: Entry, what: "down" | "up" | "failed" | "held", reason: string): void;
  onStray(entry: Entry, error: unknown): void;
}

/** Imports a plugin here, or lets it run in a process of its own where its entry says so; that room is loaded only then. */
export function createImportCode(sources: HostSources, limits: PhaseLimits, events: IsolatedEvents): ImportCode {
  const { dataFolder, env, folder, parts, quarantine } = sources;
  // Only the daemon itself, which holds the folder's lock when it sets up, may take processes of that mark for orphans.
  const marker = quarantine === "kept" ? `isolated-${folderMark(dataFolder)}` : undefined;
  let swept: Promise<unknown> | undefined;

  async function sweep(log: Log): Promise<void> {
    if (marker === undefined) return;
    swept ??= parts.capabilities.sweep().then(({ sweepOrphans }) => sweepOrphans({ marker, log }));
    await swept;
  }

  return async (entry) => {
    const { source } = entry;
    if (source.isolated !== true) return importPlugin(source);
    const { installed } = source;
    const deps: IsolationDeps = {
      env,
      hidden: [folder, dataFolder],
      limits: { upMs: limits.loadMs },
      ...(marker === undefined ? {} : { marker }),
      sweep,
      // Its files may be others by now: what was trusted is looked up each time.
      ...(installed === undefined
        ? {}
        : { verify: async () => (await parts.integrity()).openPins(dataFolder).requirePinned(installed.name, installed.folder) }),
      onState: (what, reason) => events.onState(entry, what, reason),
      onStray: (error) => events.onStray(entry, error),
    };
    const { isolate } = await parts.isolation();
    entry.isolated = await isolate(source, deps);
    return entry.isolated.plugin;
  };
}
