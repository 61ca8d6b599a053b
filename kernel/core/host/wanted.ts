import type { Capability, Manifest } from "@svc/sdk";
import { type Entry, failEntry } from "./entry.ts";

/** What the document asks for. */
export interface Wanted {
  /** The value at a dotted path of the configuration. */
  section(path: string): unknown;
  /** Tier names that agents use. */
  readonly tiers: ReadonlySet<string>;
  /** Why the owner of a section cannot run, by plugin id. */
  readonly broken: ReadonlyMap<string, string>;
}

const sectionPath = (entry: Entry): string | undefined => entry.plugin?.config?.at ?? entry.source.manifest?.section;
/** The plugin's own section, as the document has it. */
export const sectionOf = (entry: Entry, wanted: Wanted): unknown => {
  const path = sectionPath(entry);
  return path === undefined ? undefined : wanted.section(path);
};

/** Its code is needed when it shall run, and also when only its section is there: the section is validated all the same. */
export function needsCode(entry: Entry, wanted: Wanted, entries: readonly Entry[]): boolean {
  const manifest = entry.source.manifest;
  return (
    manifest === undefined ||
    isWanted(entry, wanted, entries) ||
    (entry.state !== "disabled" && manifest.section !== undefined && wanted.section(manifest.section) !== undefined)
  );
}

/** Does the document ask for it to run, or another one of `entries`? */
export function isWanted(entry: Entry, wanted: Wanted, entries: readonly Entry[]): boolean {
  if (entry.state === "disabled" || entry.state === "quarantined") return false;
  const manifest = entry.source.manifest;
  const section = sectionOf(entry, wanted);
  switch (activation(entry)) {
    case "always":
      return true;
    case "section":
      return section !== undefined && (section as { enabled?: unknown }).enabled !== false;
    case "enabled":
      return (section as { enabled?: unknown } | undefined)?.enabled === true;
    case "agent":
      return wanted.tiers.has(manifest?.name ?? "");
    case "needed": {
      const served = manifest?.serves ?? entry.plugin?.serves ?? [];
      return entries.some((other) => activation(other) !== "needed" && usesAny(other, served) && isWanted(other, wanted, entries));
    }
  }
}

const activation = ({ source: { manifest }, plugin }: Entry): Manifest["activate"] =>
  manifest?.activate ?? (plugin?.serves !== undefined ? "needed" : plugin?.config === undefined ? "always" : "section");

const usesAny = ({ source: { manifest }, plugin }: Entry, served: readonly Capability[]): boolean =>
  (plugin?.capabilities ?? manifest?.capabilities ?? []).some((capability) => served.includes(capability));

/** Runs only what was imported and whose section stands; one whose section does not is failed with the reason. */
export function mayRun(entry: Entry, wanted: Wanted, entries: readonly Entry[]): boolean {
  if (entry.plugin === undefined || !isWanted(entry, wanted, entries)) return false;
  const broken = wanted.broken.get(entry.id);
  if (broken === undefined) return true;
  failEntry(entry, broken);
  return false;
}
