import { reasonOf } from "@svc/sdk";
import { createEntry, type Entry, failEntry } from "./entry.ts";
import type { HostSources } from "./host.ts";
import { readEntry, readManifest, resolveEntry, type Source } from "./source.ts";
import { isDefaultStore, isStore } from "./store-plugin.ts";

/** Every plugin that `sources` name, before any of its code runs; one that cannot be read is failed with the reason. `off` are switched off. */
export function discover(sources: HostSources, off: ReadonlySet<string>, host: object, broke: Entry["broke"]): Entry[] {
  const entries: Entry[] = [];
  const add = (id: string, from: Source["from"], read: () => Source | undefined) => {
    let entry: Entry;
    try {
      const source = read();
      if (source === undefined) return;
      entry = createEntry(source, host, broke);
    } catch (error) {
      entry = createEntry({ id: id as Source["id"], from }, host, broke);
      failEntry(entry, reasonOf(error), error);
    }
    if (off.has(entry.id)) entry.state = "disabled";
    entries.push(entry);
  };
  for (const plugin of sources.inline)
    add(`${plugin.kind}-${plugin.name}`, "inline", () => ({ id: `${plugin.kind}-${plugin.name}`, from: "inline", plugin, version: plugin.version }));
  const known = (folder: string) => add(folder, "first-party", () => readManifest(folder, "first-party"));
  for (const folder of sources.known) known(folder);
  for (const entry of sources.entries)
    if (!readEntry(entry).off) add(readEntry(entry).name, "package", () => resolveEntry(entry, sources.folder, sources.searchFolders));
  const usual = sources.ownStore === true || entries.some(isDefaultStore) ? undefined : sources.parts.defaultStore.find();
  if (usual !== undefined) known(usual);
  // What a file without a package is, shows when it is imported.
  return sources.storesOnly === true
    ? entries.filter((entry) => isStore(entry) || (entry.source.from === "path" && entry.source.manifest === undefined))
    : entries;
}
