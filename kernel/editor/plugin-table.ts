import type { InstalledPlugin, OfferedPlugin } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { SettingsDeps } from "../core/boot/settings-port.ts";
import { releaseQuarantine } from "../supply/quarantine.ts";

/** Returns the plugins that this daemon knows, with their manifests and states. */
export function installedPlugins({ host }: SettingsDeps): readonly InstalledPlugin[] {
  const sources = new Map(host.sources().map((source) => [source.id as string, source]));
  const channels = [...host.live.channels.values()].map(({ scope, thing, state, reason }) => ({
    plugin: scope.id as string,
    name: thing.name,
    state,
    ...(reason === undefined ? {} : { reason }),
  }));
  return host.statuses().map((status) => {
    const source = sources.get(status.id);
    return {
      ...status,
      ...(source?.folder === undefined ? {} : { folder: source.folder }),
      ...(source?.manifest === undefined ? {} : { manifest: source.manifest }),
      channels: channels.filter(({ plugin }) => plugin === status.id).map(({ plugin: _plugin, ...channel }) => channel),
    };
  });
}

/** What the embedding program could install: what this daemon knows already is left out. */
export async function offeredPlugins({ host, offered }: SettingsDeps): Promise<readonly OfferedPlugin[]> {
  const known = new Set<string>(host.statuses().map(({ id }) => id));
  return ((await offered?.()) ?? []).filter(({ kind, name }) => !known.has(`${kind}-${name}`));
}

/** Takes a plugin out of quarantine and has the daemon load it. Throws `SVC_SETTINGS_PLUGIN` for one that is not in it. */
export async function releasePlugin(
  { host, dataFolder, reload }: SettingsDeps,
  plugin: string,
): Promise<{ readonly loaded: boolean; readonly reason?: string }> {
  if (!releaseQuarantine(dataFolder, plugin)) throw fail("SVC_SETTINGS_PLUGIN", { plugin });
  const { failed } = await reload();
  // A bare file is known by its path until its code is loaded; sources and statuses are in one order.
  const place = host.sources().findIndex(({ id }) => id === plugin);
  const status = host.statuses().find(({ id }, at) => id === plugin || at === place);
  const reason = failed.find((one) => one.plugin === plugin || one.plugin === status?.id)?.reason;
  return reason === undefined ? { loaded: status?.state === "running" } : { loaded: false, reason };
}
