import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import type { Manifest, Plugin, PluginId } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { readPackage } from "./manifest.ts";

/** The source of a plugin, known before any of its code runs. */
export interface Source {
  readonly id: PluginId;
  readonly from: "first-party" | "package" | "path" | "inline";
  /** Absent for a plugin passed in code and for a bare TypeScript file. */
  readonly manifest?: Manifest;
  readonly version?: string;
  /** The file to import. */
  readonly entry?: string;
  /** The folder of its package. */
  readonly folder?: string;
  readonly plugin?: Plugin<never>;
  /** The package that was installed: its files must be those that were trusted. */
  readonly installed?: { readonly name: string; readonly folder: string };
  /** Its code runs in a process of its own. */
  readonly isolated?: true;
}

/** An entry of `plugins`, taken apart: `"!<id>"` keeps a plugin from loading, `"process:<name or path>"` lets it run in a process of its own. */
export interface PluginEntry {
  /** The package's name or the path; the id where it is `off`. */
  readonly name: string;
  readonly off: boolean;
  readonly isolated: boolean;
}

const ISOLATED = "process:";

/** Takes an entry of `plugins` apart. */
export function readEntry(entry: string): PluginEntry {
  if (entry.startsWith("!")) return { name: entry.slice(1), off: true, isolated: false };
  const isolated = entry.startsWith(ISOLATED);
  return { name: isolated ? entry.slice(ISOLATED.length) : entry, off: false, isolated };
}

/** As `plugins` of svc.json says it. */
export const writeEntry = ({ name, isolated }: Pick<PluginEntry, "name" | "isolated">): string => (isolated ? `${ISOLATED}${name}` : name);

/** Read the static manifest of a package folder. Undefined when its package.json has no `svc` member; throws `SVC_PLUGIN_MANIFEST`. */
export function readManifest(folder: string, from: Source["from"]): Source | undefined {
  const found = readPackage(folder, from !== "first-party");
  if (found === undefined) return undefined;
  const { manifest, version } = found;
  return {
    id: `${manifest.kind}-${manifest.name}`,
    from,
    manifest,
    folder,
    entry: resolve(folder, manifest.entry),
    ...(version === undefined ? {} : { version }),
  };
}

/** Resolve an entry of `plugins`: an installed package name, or a path from the configuration's folder. Throws `SVC_PLUGIN_NOT_FOUND`. */
export function resolveEntry(text: string, folder: string, searchFolders: readonly string[]): Source {
  const { name: entry, isolated } = readEntry(text);
  return { ...locate(entry, folder, searchFolders), ...(isolated ? { isolated } : {}) };
}

function locate(entry: string, folder: string, searchFolders: readonly string[]): Source {
  if (entry.startsWith("./") || entry.startsWith("../") || isAbsolute(entry)) return resolvePath(entry, folder);
  const found = [...searchFolders, folder].map((base) => findPackage(entry, base)).find((path) => path !== undefined);
  if (found === undefined) throw fail("SVC_PLUGIN_NOT_FOUND", { plugin: entry, next: `install it with: svc plugin add ${entry}` });
  const source = readManifest(found, "package");
  if (source === undefined) throw fail("SVC_PLUGIN_MANIFEST", { file: join(found, "package.json"), reason: 'it has no "svc" member, so it is no plugin' });
  return { ...source, installed: { name: entry, folder: found } };
}

/** The folder of an installed package, looked up as Node does but without asking its `exports`, which may hide its package.json. */
function findPackage(name: string, base: string): string | undefined {
  if (!/^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i.test(name)) return undefined;
  for (let at = resolve(base); ; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(join(folder, "package.json"))) return folder;
    if (at === dirname(at)) return undefined;
  }
}

function resolvePath(entry: string, folder: string): Source {
  const path = resolve(folder, entry);
  if (!existsSync(path)) throw fail("SVC_PLUGIN_NOT_FOUND", { plugin: entry, next: `there is no ${path}: mend the path in plugins of svc.json` });
  if (/\.(m?js|ts)$/.test(path)) {
    // A single file has no manifest: its id is only known after the import, so the path is used until then.
    return { id: `feature-${path}` as PluginId, from: "path", entry: path };
  }
  const source = readManifest(path, "path");
  if (source === undefined) throw fail("SVC_PLUGIN_MANIFEST", { file: join(path, "package.json"), reason: 'it has no "svc" member, so it is no plugin' });
  return source;
}

/** Whether it is third-party code, loaded from disk: watched more closely than first-party plugins. */
export const isForeign = ({ from }: Source): boolean => from === "package" || from === "path";

/** Where a plugin's code lies: how its files' addresses in a stack begin, as it was named and where links lead. */
export function originsOf({ folder, entry }: Source): string[] {
  const path = folder ?? entry;
  if (path === undefined) return [];
  const end = folder === undefined ? "" : "/";
  try {
    return [...new Set([`${realpathSync(path)}${end}`, `${path}${end}`])];
  } catch {
    return [];
  }
}
