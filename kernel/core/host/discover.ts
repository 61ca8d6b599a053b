import { type Plugin, reasonOf } from "@svc/sdk";
import { readEntry, readManifest, resolveEntry, type Source } from "../../sources/source.ts";
import { HostedPlugin, type OnIncident } from "./hosted-plugin.ts";
import { type DefaultStore, isDefaultStore, isStore } from "./store-plugin.ts";

/** Where plugins are looked for. */
export interface PluginSources {
  readonly parts: { readonly defaultStore: DefaultStore };
  /** The embedding program provides the store: no store plugin is loaded. */
  readonly ownStore?: boolean;
  /** Only the plugins that may keep the state are known. */
  readonly storesOnly?: boolean;
  /** Folders of first-party packages: known, and loaded only when the configuration names them. */
  readonly known: readonly string[];
  /** `plugins` of svc.json: names, paths, either with `process:` before it, and `!id` to keep a first-party plugin from loading. */
  readonly entries: readonly string[];
  /** Plugins passed in code. */
  readonly inline: readonly Plugin<never>[];
  /** Where relative paths and packages are looked up. */
  readonly folder: string;
  readonly searchFolders: readonly string[];
}

/** Lists every plugin that the sources name, in their order: the first owns a contested name. An unreadable one is marked as failed. No plugin code runs. */
export function discover(sources: PluginSources, host: object, onIncident: OnIncident): HostedPlugin[] {
  const listed = sources.entries.map(readEntry);
  const off = new Set(listed.flatMap((entry) => (entry.off ? [entry.name] : [])));
  const found: HostedPlugin[] = [];
  const add = (id: string, from: Source["from"], read: () => Source | undefined) => {
    let source: Source | undefined;
    let failure: { readonly error: unknown } | undefined;
    try {
      source = read();
      if (source === undefined) return;
    } catch (error) {
      failure = { error };
    }
    const plugin = new HostedPlugin(source ?? { id: id as Source["id"], from }, host, onIncident);
    if (off.has(plugin.id)) plugin.move("disabled");
    else if (failure !== undefined) plugin.fail("manifest", reasonOf(failure.error), failure.error);
    found.push(plugin);
  };
  for (const plugin of sources.inline) {
    const id = `${plugin.kind}-${plugin.name}` as const;
    add(id, "inline", () => ({ id, from: "inline", plugin, version: plugin.version }));
  }
  const known = (folder: string) => add(folder, "first-party", () => readManifest(folder, "first-party"));
  for (const folder of sources.known) known(folder);
  for (const [at, { off: switchedOff, name }] of listed.entries())
    if (!switchedOff) add(name, "package", () => resolveEntry(sources.entries[at] as string, sources.folder, sources.searchFolders));
  const usual = sources.ownStore === true || found.some(isDefaultStore) ? undefined : sources.parts.defaultStore.find();
  if (usual !== undefined) known(usual);
  // The kind of a file without a package is only known after its import.
  return sources.storesOnly === true ? found.filter((one) => isStore(one) || (one.source.from === "path" && one.source.manifest === undefined)) : found;
}
