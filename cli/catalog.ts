import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { CommandGroup, Manifest } from "@svc/sdk";

/** A package folder that holds a plugin. */
export interface Listed {
  readonly folder: string;
  readonly manifest: Manifest;
  /** The package's name, for one that the operator installed. */
  readonly name?: string;
}

/** The `@svc` scope folder this program runs from: beside it lie the first-party plugins. Reads JSON only, runs no plugin code. */
export function firstParty(): Listed[] {
  return scopeFolders().flatMap((scope) =>
    readdirSync(scope)
      .sort()
      .flatMap((name) => {
        const manifest = manifestOf(join(scope, name));
        return manifest === undefined ? [] : [{ folder: join(scope, name), manifest }];
      }),
  );
}

/** Plugins that the operator installed into the data folder. */
export function installed(dataFolder: string): Listed[] {
  const modules = join(dataFolder, "node_modules");
  if (!existsSync(modules)) return [];
  const folders = readdirSync(modules).flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name]));
  return folders.flatMap((name) => {
    const manifest = manifestOf(join(modules, name));
    return manifest === undefined ? [] : [{ folder: join(modules, name), manifest, name }];
  });
}

/**
 * A plugin's name beside what people call the thing it speaks to: `Telegram (botmsg)`; the name alone where its manifest names no
 * product. Reads one file for a first-party plugin.
 */
export function productName(kind: Manifest["kind"], name: string, dataFolder: string): string {
  const own = scopeFolders().map((scope) => manifestOf(join(scope, `${kind}-${name}`)));
  const manifest = own.find((found) => found !== undefined) ?? installed(dataFolder).find((listed) => isPlugin(listed, kind, name))?.manifest;
  return manifest?.product === undefined ? name : `${manifest.product} (${name})`;
}

const isPlugin = ({ manifest }: Listed, kind: Manifest["kind"], name: string): boolean => manifest.kind === kind && manifest.name === name;

/** The command groups that plugins add; the module is imported when called, and of an installed plugin only while it is what was trusted. */
export function pluginGroups(dataFolder: string): { name: string; summary: string; load(): Promise<CommandGroup> }[] {
  return [...firstParty(), ...installed(dataFolder)].flatMap(({ folder, manifest, name: pkg }) =>
    (manifest.commands ?? []).map(({ name, summary, module }) => ({
      name,
      summary,
      async load() {
        if (pkg !== undefined) {
          const { readPins, requirePinned } = await import("@svc/kernel");
          await requirePinned(pkg, folder, await readPins(dataFolder));
        }
        return (await import(pathToFileURL(join(folder, module)).href)).default as CommandGroup;
      },
    })),
  );
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
