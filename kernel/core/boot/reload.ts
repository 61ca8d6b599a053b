import { diffConfig } from "../../base/config-diff.ts";
import { keepLastGood, readConfiguration, withTroubles } from "../config/configuration.ts";
import type { Assembly } from "./assembly.ts";
import type { ReloadReport } from "./kernel-api.ts";
import type { Workspaces } from "./maintenance-port.ts";
import type { Runtime } from "./runtime.ts";

/** Applies the current configuration. A reload is refused as a whole, with `SVC_CONFIG_*`: steps that can fail come first. */
export async function reloadConfiguration(
  { locations, host, settings, bus, log }: Assembly,
  { contexts, capabilities, pipeline }: Runtime,
  workspaces: Workspaces,
): Promise<ReloadReport> {
  const next = await readConfiguration(locations.reopen(), host);
  const { changed, restartRequired } = diffConfig(settings.value, next.value, next.checked.restartPaths);
  await capabilities.ensure(host.declared());
  settings.replace(next);
  bus.resize(settings.ringSize);
  if (locations.onDisk) await workspaces.make(settings.agents.list());
  const failed = withTroubles(await host.apply(next.wanted, contexts), next, host);
  pipeline.refill();
  await keepLastGood(next, locations.dataFolder, log);
  return { reloaded: true, changed, restartRequired, failed };
}
