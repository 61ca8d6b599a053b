import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CommandGroup, Manifest } from "@svc/sdk";
import { APART, groupApart } from "./apart.ts";
import type { GroupEntry } from "./group.ts";
import { offlineCode } from "./kernel-code.ts";

/** A package folder that holds a plugin. */
export interface Listed {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The package's name, for one that the operator installed. */
  readonly name?: string;
  /** Its entry in `plugins`, for one that is named by its path. */
  readonly path?: string;
}

/** The first-party plugins. Reads JSON only, runs no plugin code. */
export function firstParty(): Listed[] {
  return besideUs().flatMap((folder) => {
    const manifest = manifestOf(folder);
    return manifest === undefined ? [] : [{ folder, manifest }];
  });
}

/** The packages of the `@svc` scope folder this program runs from, in order: the first-party plugins are among them. Reads no file. */
export const besideUs = (): string[] =>
  scopeFolders().flatMap((scope) =>
    readdirSync(scope)
      .sort()
      .map((name) => join(scope, name))
      .filter((folder) => existsSync(join(folder, "package.json"))),
  );

/** Plugins that the operator added to the daemon of that svc.json: installed ones, and those that it names by their path. */
export const added = (file: string): Listed[] => [...installed(join(dirname(file), ".svc")), ...byPath(file)];

/** An unreadable document counts as empty: the daemon and `svc config check` report the error. */
function byPath(file: string): Listed[] {
  let entries: unknown;
  try {
    entries = (JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, "")) as { plugins?: unknown }).plugins;
  } catch {
    return [];
  }
  const paths = (Array.isArray(entries) ? entries : []).map((entry) => String(entry).replace(/^process:/, "")).filter((entry) => /^(\.{1,2})?\//.test(entry));
  return paths.flatMap((path) => {
    const folder = resolve(dirname(file), path);
    const manifest = manifestOf(folder);
    return manifest === undefined ? [] : [{ folder, manifest, path }];
  });
}

/** Plugins that the operator installed into the data folder. */
function installed(dataFolder: string): Listed[] {
  const modules = join(dataFolder, "node_modules");
  if (!existsSync(modules)) return [];
  const folders = readdirSync(modules).flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name]));
  return folders.flatMap((name) => {
    const manifest = manifestOf(join(modules, name));
    return manifest === undefined ? [] : [{ folder: join(modules, name), manifest, name }];
  });
}

/** Returns the name that people use for a plugin: the end of its section, which may contain a character that plugin names cannot (`forge_a`); else its name. */
export const calledAs = ({ name, section }: Manifest): string => section?.split(".").at(-1) ?? name;

/**
 * Returns a plugin's name with the name of its product: `Telegram (botmsg)`; the name alone if its manifest names no product. Reads one file for a
 * first-party plugin.
 */
export function productName(kind: Manifest["kind"], name: string, dataFolder: string): string {
  const own = scopeFolders().map((scope) => manifestOf(join(scope, `${kind}-${name}`)));
  const manifest = own.find((found) => found !== undefined) ?? installed(dataFolder).find((listed) => isPlugin(listed, kind, name))?.manifest;
  return manifest?.product === undefined ? name : `${manifest.product} (${name})`;
}

const isPlugin = ({ manifest }: Listed, kind: Manifest["kind"], name: string): boolean => manifest.kind === kind && manifest.name === name;

/**
 * Returns the command groups that plugins add to the `svc` of that svc.json; the module is imported when called, that of an installed plugin only
 * while it matches its pin.
 */
export function pluginGroups(file: string): GroupEntry[] {
  const groups = [...firstParty(), ...added(file)].flatMap(({ folder, manifest, name: pkg, path }) =>
    (manifest.commands ?? []).map(({ name, summary, module }) => ({
      name,
      summary,
      plugin: { id: `${manifest.kind}-${manifest.name}`, loaded: whenLoaded(manifest, folder) },
      async load() {
        if (pkg !== undefined || path !== undefined) {
          const { importFile, readManifest, readPins, requirePinned } = offlineCode();
          if (pkg !== undefined) await requirePinned(pkg, folder, await readPins(join(dirname(file), ".svc")));
          // Refuses a module that lies outside of its package.
          readManifest(folder, "package");
          return (await importFile(join(folder, module))).default as CommandGroup;
        }
        return (await import(pathToFileURL(join(folder, module)).href)).default as CommandGroup;
      },
    })),
  );
  const missing = Object.entries(APART).filter(([name]) => !groups.some((group) => group.name === name));
  return [...groups, ...missing.map(([name, apart]) => ({ name, summary: groupApart(name, apart).summary, load: async () => groupApart(name, apart) }))];
}

function whenLoaded({ kind, name, section }: Manifest, folder: string): string {
  if (kind === "tier") return `an agent runs on it: svc config set agents.<id>.tier ${name}`;
  return `svc.json ${section === undefined ? "asks for it" : `has the section ${section}`}; see ${join(folder, "README.md")}`;
}

function scopeFolders(): string[] {
  // In a workspace and in an installation alike, node_modules/@svc holds the packages by name.
  const require = createRequire(import.meta.url);
  for (const base of require.resolve.paths("@svc/sdk") ?? []) {
    const scope = join(base, "@svc");
    if (existsSync(join(scope, "sdk"))) return [scope];
  }
  return [dirname(dirname(fileURLToPath(import.meta.url)))];
}

function manifestOf(folder: string): Manifest | undefined {
  try {
    return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { svc?: Manifest }).svc;
  } catch {
    return undefined;
  }
}
