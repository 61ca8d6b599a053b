import type { Log } from "@svc/sdk";
import { folderMark } from "../../base/process-identity.ts";
import { importPlugin } from "../../sources/code.ts";
import type { HostSources } from "./host.ts";
import type { HostedPlugin, ImportCode, PhaseLimits } from "./hosted-plugin.ts";
import type { ProcessConsequence } from "./incident.ts";
import type { IsolationDeps } from "./isolation-port.ts";

/** Listener for the processes of isolated plugins. */
export interface ProcessEvents {
  onEnded(plugin: HostedPlugin, consequence: ProcessConsequence, reason: string): void;
  onRecovered(plugin: HostedPlugin): void;
  /** An error that its code left uncaught. */
  onStray(plugin: HostedPlugin, error: unknown): void;
}

/** Imports a plugin into this process, or runs it in a process of its own where `plugins` says so; the isolation room is loaded only then. */
export function createImportCode(sources: HostSources, limits: PhaseLimits, events: ProcessEvents): ImportCode {
  const { dataFolder, env, folder, parts, quarantine } = sources;
  // Only the daemon itself, which holds the folder's lock when it sets up, may take processes of that mark for orphans.
  const marker = quarantine === "kept" ? `isolated-${folderMark(dataFolder)}` : undefined;
  let swept: Promise<unknown> | undefined;

  async function sweep(log: Log): Promise<void> {
    if (marker === undefined) return;
    swept ??= parts.capabilities.sweep().then(({ sweepOrphans }) => sweepOrphans({ marker, log }));
    await swept;
  }

  return async (hosted) => {
    const { source } = hosted;
    if (source.isolated !== true) return importPlugin(source);
    const { installed } = source;
    const deps: IsolationDeps = {
      env,
      hidden: [folder, dataFolder],
      limits: { upMs: limits.loadMs },
      ...(marker === undefined ? {} : { marker }),
      sweep,
      // Its files may have changed: read the pin again each time.
      ...(installed === undefined
        ? {}
        : { verify: async () => (await parts.integrity()).openPins(dataFolder).requirePinned(installed.name, installed.folder) }),
      onEnded: (consequence, reason) => events.onEnded(hosted, consequence, reason),
      onRecovered: () => events.onRecovered(hosted),
      onStray: (error) => events.onStray(hosted, error),
    };
    const { isolate } = await parts.isolation();
    hosted.isolated = await isolate(source, deps);
    return hosted.isolated.plugin;
  };
}
