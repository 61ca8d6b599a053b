import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { API_FLOOR, API_GENERATION, type Manifest, type Plugin, type PluginId, SDK_VERSION } from "@svc/sdk";
import { fail } from "../errors.ts";

/** Where a plugin comes from, known before any of its code runs. */
export interface Source {
  readonly id: PluginId;
  readonly from: "first-party" | "package" | "path" | "inline";
  /** Absent for a plugin handed over in code and for a bare TypeScript file. */
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

export function readEntry(entry: string): PluginEntry {
  if (entry.startsWith("!")) return { name: entry.slice(1), off: true, isolated: false };
  const isolated = entry.startsWith(ISOLATED);
  return { name: isolated ? entry.slice(ISOLATED.length) : entry, off: false, isolated };
}

/** As `plugins` of svc.json says it. */
export const writeEntry = ({ name, isolated }: Pick<PluginEntry, "name" | "isolated">): string => (isolated ? `${ISOLATED}${name}` : name);

const KINDS: readonly string[] = ["channel", "tier", "action", "board", "store", "feature"];
const ACTIVATIONS: readonly string[] = ["always", "section", "enabled", "agent"];
const NAME = /^[a-z][a-z0-9-]*$/;

/** Read the static manifest of a package folder. Undefined when its package.json has no `svc` member; throws `SVC_PLUGIN_MANIFEST`. */
export function readManifest(folder: string, from: Source["from"]): Source | undefined {
  const file = join(folder, "package.json");
  let pkg: { version?: string; svc?: Manifest };
  try {
    pkg = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw fail("SVC_PLUGIN_MANIFEST", { file, reason: error instanceof Error ? error.message : String(error) });
  }
  const manifest = pkg.svc;
  if (manifest === undefined) return undefined;
  const wrong = !KINDS.includes(manifest.kind)
    ? `kind must be one of ${KINDS.join(", ")}`
    : !NAME.test(manifest.name ?? "")
      ? "name must be lower-case letters, digits and '-'"
      : typeof manifest.entry !== "string"
        ? "entry must name the built file"
        : !ACTIVATIONS.includes(manifest.activate)
          ? `activate must be one of ${ACTIVATIONS.join(", ")}`
          : !(Number.isInteger(manifest.api) && manifest.api >= API_FLOOR && manifest.api <= API_GENERATION)
            ? `it is written for generation ${manifest.api} of the plugin API, this daemon speaks ${API_FLOOR === API_GENERATION ? API_GENERATION : `${API_FLOOR} to ${API_GENERATION}`}`
            : undefined;
  if (wrong !== undefined) throw fail("SVC_PLUGIN_MANIFEST", { file, reason: wrong });
  return {
    id: `${manifest.kind}-${manifest.name}`,
    from,
    manifest,
    folder,
    entry: resolve(folder, manifest.entry),
    ...(pkg.version === undefined ? {} : { version: pkg.version }),
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
  if (/\.(m?js|ts)$/.test(path)) {
    // A single file has no manifest: its id is only known once it is imported, so the path stands in for it.
    return { id: `feature-${path}` as PluginId, from: "path", entry: path };
  }
  const source = readManifest(path, "path");
  if (source === undefined) throw fail("SVC_PLUGIN_MANIFEST", { file: join(path, "package.json"), reason: 'it has no "svc" member, so it is no plugin' });
  return source;
}

/** Somebody else's code, loaded from disk: watched more closely than what comes with the program. */
export const isForeign = ({ from }: Source): boolean => from === "package" || from === "path";

/** Where a plugin's code lies: the start of its files' addresses in a stack. */
export function originOf({ folder, entry }: Source): string | undefined {
  try {
    return folder !== undefined ? `${realpathSync(folder)}/` : entry === undefined ? undefined : realpathSync(entry);
  } catch {
    return undefined;
  }
}

/** Import a plugin's entry. TypeScript files go through jiti, which is loaded only then. */
export async function importPlugin(source: Source): Promise<Plugin<never>> {
  if (source.plugin !== undefined) return source.plugin;
  const entry = source.entry as string;
  let module: { default?: unknown };
  if (entry.endsWith(".ts")) {
    const { createJiti } = await import("jiti");
    module = await createJiti(import.meta.url, { moduleCache: false }).import(entry);
  } else module = await evaluate(entry);
  const plugin = (module.default ?? module) as Plugin<never>;
  if (typeof plugin?.setup !== "function" || !KINDS.includes(plugin.kind) || !NAME.test(plugin.name ?? "")) {
    throw fail("SVC_PLUGIN_SHAPE", { plugin: source.id, file: entry });
  }
  return plugin;
}

const require = createRequire(import.meta.url);

/**
 * Runs a module. Required where that can be, because `import()` makes a hundred promises a file, each of which carries the plugin's
 * scope. What awaits at its top level, or is being imported by somebody else, has to be imported; what is not there says so better.
 */
async function evaluate(file: string): Promise<{ default?: unknown }> {
  try {
    return require(file);
  } catch (error) {
    const mustImport = String((error as { code?: unknown } | undefined)?.code).startsWith("ERR_REQUIRE_") || !existsSync(file);
    if (!mustImport) throw error;
    return import(pathToFileURL(file).href);
  }
}

/** Does the plugin say it is what its manifest says, and was it written for this contract? Throws with the reason. */
export async function checkPlugin(source: Source, plugin: Plugin<never>): Promise<void> {
  const id = `${plugin.kind}-${plugin.name}`;
  if (source.manifest !== undefined && source.id !== id) {
    throw fail("SVC_PLUGIN_SHAPE", { plugin: source.id, file: `${source.entry} (it calls itself ${id})` });
  }
  // A section without a schema is the kernel's: the plugin only reads it, and its manifest claims nothing.
  const owned = plugin.config?.schema && plugin.config.at;
  if (source.manifest !== undefined && owned !== source.manifest.section) {
    throw fail("SVC_PLUGIN_SECTION", {
      plugin: id,
      section: owned ?? "no section",
      reason: `its manifest says ${source.manifest.section ?? "none"}`,
    });
  }
  if (isForeign(source) && plugin.config !== undefined && plugin.config.schema === undefined) {
    throw fail("SVC_PLUGIN_SECTION", { plugin: id, section: plugin.config.at, reason: "an added plugin owns its section, so it must bring a schema for it" });
  }
  const undeclared = source.manifest === undefined ? [] : plugin.capabilities.filter((capability) => !source.manifest?.capabilities.includes(capability));
  if (undeclared.length > 0)
    throw fail("SVC_CAPABILITY_UNDECLARED", { plugin: id, capability: undeclared.join(", "), where: "the svc member of its package.json" });
  await requireFloor(id, plugin.svc);
}

/**
 * Within a generation of the API what worked goes on working, so only the lowest version of the range counts: the plugin may use what
 * came with it. Throws `SVC_PLUGIN_VERSION`.
 */
async function requireFloor(plugin: string, range: unknown): Promise<void> {
  // Most name the version they run on: then the grammar of ranges, which is slow to load, need not be asked.
  if (range === `^${SDK_VERSION}` || range === `>=${SDK_VERSION}`) return;
  const semver = (await import("semver")).default;
  const floor = semver.validRange(range as string) === null ? undefined : semver.minVersion(range as string);
  const reason =
    floor === undefined || floor === null
      ? `'${range}' in its svc is no range of versions; write the lowest version of @svc/sdk that it needs, such as >=${SDK_VERSION}`
      : semver.gt(floor, SDK_VERSION)
        ? `it needs @svc/sdk ${floor} or later, this daemon has ${SDK_VERSION}; update svc, or install an earlier version of the plugin`
        : undefined;
  if (reason !== undefined) throw fail("SVC_PLUGIN_VERSION", { plugin, reason, range, version: SDK_VERSION });
}
