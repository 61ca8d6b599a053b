import type { Capability, Manifest } from "@svc/sdk";
import type { HostedPlugin } from "./hosted-plugin.ts";

/** Plugins and settings that the document enables. */
export interface Wanted {
  /** The value at a dotted path of the configuration. */
  section(path: string): unknown;
  /** Tier names that agents use. */
  readonly tiers: ReadonlySet<string>;
  /** Does an agent have that key? */
  hasAgentKey(key: string): boolean;
  /** Why the owner of a section cannot run, by plugin id. */
  readonly broken: ReadonlyMap<string, string>;
}

const sectionPath = (hosted: HostedPlugin): string | undefined => hosted.plugin?.config?.at ?? hosted.source.manifest?.section;
/** The plugin's own section in the document. */
export const sectionOf = (hosted: HostedPlugin, wanted: Wanted): unknown => {
  const path = sectionPath(hosted);
  return path === undefined ? undefined : wanted.section(path);
};

/** Its code is needed if it is enabled, and also if only its section or a key of its agents is present: these are validated in any case. */
export function needsCode(hosted: HostedPlugin, wanted: Wanted, plugins: readonly HostedPlugin[]): boolean {
  const manifest = hosted.source.manifest;
  return (
    manifest === undefined ||
    isWanted(hosted, wanted, plugins) ||
    (hosted.state !== "disabled" &&
      ((manifest.section !== undefined && wanted.section(manifest.section) !== undefined) || (manifest.agentKeys ?? []).some(wanted.hasAgentKey)))
  );
}

/** Does the document ask for it to run, or another one of `plugins`? */
export function isWanted(hosted: HostedPlugin, wanted: Wanted, plugins: readonly HostedPlugin[]): boolean {
  if (hosted.isBarred) return false;
  const manifest = hosted.source.manifest;
  const section = sectionOf(hosted, wanted);
  switch (activation(hosted)) {
    case "always":
      return true;
    case "section":
      return section !== undefined && (section as { enabled?: unknown } | null)?.enabled !== false;
    case "enabled":
      return (section as { enabled?: unknown } | null | undefined)?.enabled === true;
    case "agent":
      return manifest?.kind === "tier" ? wanted.tiers.has(manifest.name) : (manifest?.agentKeys ?? []).some(wanted.hasAgentKey);
    case "needed": {
      const served = manifest?.serves ?? hosted.plugin?.serves ?? [];
      return plugins.some((other) => activation(other) !== "needed" && usesAny(other, served) && isWanted(other, wanted, plugins));
    }
  }
}

const activation = ({ source: { manifest }, plugin }: HostedPlugin): Manifest["activate"] =>
  manifest?.activate ?? (plugin?.serves !== undefined ? "needed" : plugin?.config === undefined ? "always" : "section");

const usesAny = ({ source: { manifest }, plugin }: HostedPlugin, served: readonly Capability[]): boolean =>
  (plugin?.capabilities ?? manifest?.capabilities ?? []).some((capability) => served.includes(capability));

/** Whether it is imported and its section is valid; an invalid section marks it as failed, with the reason. */
export function mayRun(hosted: HostedPlugin, wanted: Wanted, plugins: readonly HostedPlugin[]): boolean {
  if (hosted.plugin === undefined || !isWanted(hosted, wanted, plugins)) return false;
  const broken = wanted.broken.get(hosted.id);
  if (broken === undefined) return true;
  hosted.fail("section", broken);
  return false;
}
