import { logOf, type RootLog } from "../../base/log.ts";
import { type Bus, createBus } from "../bus/index.ts";
import { type Configuration, entriesOf, readConfiguration } from "../config/configuration.ts";
import { openDocument } from "../config/document.ts";
import type { Host } from "../host/host.ts";
import { PHASE_LIMITS } from "../host/hosted-plugin.ts";
import { createHost } from "../host/plugin-host.ts";
import type { KernelParts } from "./kernel-parts.ts";
import { type Locations, locationsOf } from "./locations.ts";
import { type CoreOptions, requireKnownOptions } from "./options.ts";
import { Settings } from "./settings.ts";
import type { StatusPart } from "./status-port.ts";

/** Static parts of a kernel, whether it runs or not: none of them is open. */
export interface Assembly {
  readonly parts: KernelParts;
  readonly locations: Locations;
  readonly host: Host;
  /** As the configuration named it when the kernel was made: a change waits for a restart of the daemon. */
  readonly node: { readonly id: string; readonly name: string };
  readonly settings: Settings;
  readonly log: RootLog;
  readonly bus: Bus;
  readonly now: () => number;
  /** Says how the kernel is. */
  readonly status: StatusPart;
}

/**
 * Steps 1 and 2 of a kernel's life: reads the configuration, loads its plugins, builds what needs no open resource. Throws `SVC_CONFIG_*`,
 * `SVC_KERNEL_OPTION`.
 */
export async function assemble(options: CoreOptions, parts: KernelParts): Promise<Assembly> {
  requireKnownOptions(options);
  const locations = locationsOf(options);
  const { configFile: file, folder, dataFolder, onDisk, env } = locations;
  const edited = file !== undefined && options.configText !== undefined;
  const document = edited ? openDocument({ file, text: options.configText as string }, env) : locations.reopen();
  const host = createHost(
    {
      parts,
      known: options.known ?? [],
      entries: entriesOf(document),
      inline: options.plugins ?? [],
      ownStore: options.store !== undefined,
      folder,
      searchFolders: [dataFolder, ...(options.searchFolders ?? [])],
      dataFolder,
      quarantine: onDisk ? "kept" : "none",
      env,
    },
    { ...PHASE_LIMITS, ...options.limits },
  );
  // Before any plugin runs: from then on each promise carries a scope, and importing makes thousands of them.
  if (options.listen) await (await parts.http()).load();
  return build({ parts, locations, host, configuration: await readConfiguration(document, host), log: options.log, now: options.now ?? Date.now });
}

/** Dependencies of `build`: the configuration that was read, and the destination of log lines. */
export interface BuildDeps extends Pick<Assembly, "parts" | "locations" | "host" | "now"> {
  readonly configuration: Configuration;
  readonly log: CoreOptions["log"];
}

/** Step 2: log, bus and agents of a configuration. */
export async function build({ parts, locations, host, configuration, log: given, now }: BuildDeps): Promise<Assembly> {
  const status = await parts.status();
  const settings = new Settings(configuration, locations.folder);
  const log = logOf(given, () => settings.configuration);
  const { id, name } = settings.node;
  const bus = createBus({
    node: id,
    ringSize: settings.ringSize,
    onListenerError: (error) => log.error({ err: error }, "an event listener failed"),
    now,
  });
  host.report(status.pluginEvents(log, bus));
  return { parts, locations, host, node: { id, name }, settings, log, bus, now, status };
}
