import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { codeOf, type Plugin, SDK_VERSION } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import { isName, whyNoKind } from "./manifest.ts";
import { isForeign, type Source } from "./source.ts";

/** Imports a plugin's entry. Throws `SVC_PLUGIN_SHAPE`, and errors of the plugin's own top level. */
export async function importPlugin(source: Source): Promise<Plugin<never>> {
  if (source.plugin !== undefined) return source.plugin;
  const entry = source.entry as string;
  const module = await importFile(entry);
  const plugin = (module.default ?? module) as Plugin<never>;
  if (typeof plugin?.setup !== "function" || typeof plugin.kind !== "string" || !isName(plugin.name) || !Array.isArray(plugin.capabilities))
    throw fail("SVC_PLUGIN_SHAPE", { plugin: source.id, file: entry });
  return plugin;
}

const require = createRequire(import.meta.url);

/**
 * Imports a module of a plugin. jiti, loaded only when needed, imports TypeScript, and modules without an `@svc/sdk` in a `node_modules` above: both
 * get this program's own.
 */
export async function importFile(file: string): Promise<{ readonly default?: unknown }> {
  if (file.endsWith(".ts")) return transpile(file);
  try {
    return await evaluate(file);
  } catch (error) {
    if (lacksSdk(error)) return transpile(file);
    throw error instanceof SyntaxError ? Object.assign(error, await placeInSyntax(file)) : error;
  }
}

/** Returns the position of a syntax error: Node prints it, but does not put it on the error. */
async function placeInSyntax(file: string): Promise<{ readonly place?: string }> {
  const { createJiti } = await import("jiti");
  const said = createJiti(import.meta.url, { fsCache: false }).transform({ source: readFileSync(file, "utf8"), filename: file });
  const [, line, column] = /^exports\.__JITI_ERROR__ = .*"line":(\d+),"column":(\d+)/.exec(said) ?? [];
  return line === undefined ? {} : { place: `${basename(file)}:${line}:${column}` };
}

async function transpile(file: string): Promise<{ readonly default?: unknown }> {
  const { createJiti } = await import("jiti");
  const alias = Object.fromEntries(
    ["@svc/sdk", "@svc/sdk/program-tier", "@svc/sdk/tool-loop", "@svc/sdk/thread", "@svc/sdk/foreign-text", "@svc/sdk/engine", "@svc/sdk/testing"].map(
      (name) => [name, require.resolve(name)],
    ),
  );
  return createJiti(import.meta.url, { moduleCache: false, alias }).import(file);
}

function lacksSdk(error: unknown): boolean {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") && /^Cannot find (package|module) '@svc\/sdk['/]/.test(String(message));
}

/**
 * Runs a module. Uses `require` where possible, because `import()` creates a hundred promises a file, each of which carries the plugin's scope. A
 * module with top-level await, or one that is being imported already, has to be imported; for a missing file `import` has the better error.
 */
async function evaluate(file: string): Promise<{ default?: unknown }> {
  try {
    return require(file);
  } catch (error) {
    const mustImport = String(codeOf(error)).startsWith("ERR_REQUIRE_") || !existsSync(file);
    if (!mustImport) throw error;
    return import(pathToFileURL(file).href);
  }
}

/** Requires that the entry file of its manifest exists. Throws `SVC_PLUGIN_UNBUILT`. */
export function requireBuilt({ id, entry, manifest }: Source): void {
  if (manifest !== undefined && !existsSync(entry as string)) throw fail("SVC_PLUGIN_UNBUILT", { plugin: id, file: entry });
}

/** Checks that the plugin matches its manifest and was written for this contract. Throws with the reason. */
export async function checkPlugin(source: Source, plugin: Plugin<never>): Promise<void> {
  const id = `${plugin.kind}-${plugin.name}`;
  const wrongKind = whyNoKind(plugin.kind);
  if (wrongKind !== undefined) throw fail("SVC_PLUGIN_KIND", { plugin: id, reason: wrongKind });
  if (source.manifest !== undefined && source.id !== id) {
    throw fail("SVC_PLUGIN_SHAPE", { plugin: source.id, file: `${source.entry} (it calls itself ${id})` });
  }
  // A section without a schema is the kernel's, or that of another plugin of ours, beside which this one runs: the plugin only reads it.
  const owned = plugin.config?.schema && plugin.config.at;
  const beside = plugin.config?.schema === undefined && source.manifest?.activate === "section" && plugin.config?.at === source.manifest.section;
  if (source.manifest !== undefined && owned !== source.manifest.section && !beside) {
    throw fail("SVC_PLUGIN_SECTION", {
      plugin: id,
      section: owned ?? "no section",
      reason: `its manifest says ${source.manifest.section ?? "none"}`,
    });
  }
  if (plugin.config?.schema?.type === "array" && source.manifest?.activate === "enabled") {
    throw fail("SVC_PLUGIN_SECTION", {
      plugin: id,
      section: plugin.config.at,
      reason: 'a list has no switch \'enabled\': write "activate": "section" in its manifest',
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
 * Within a generation of the API nothing breaks, so only the lowest version of the range counts: the plugin may use anything added by that version.
 * Throws `SVC_PLUGIN_VERSION`.
 */
async function requireFloor(plugin: string, range: unknown): Promise<void> {
  // Most plugins declare the running version: then semver, which is slow to load, is not needed.
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
