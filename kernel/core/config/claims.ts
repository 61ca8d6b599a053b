import { isRecord } from "../../base/config-path.ts";
import { type Finding, unknownKey } from "../../base/schema/explain.ts";
import type { ComposedSchema, Section } from "./compose.ts";
import { CORE_KEYS, PASSED_THROUGH } from "./core-schema.ts";

/** The owners of a document's keys, beside the core's own. */
export interface Claims {
  /** Sections that are present, each with its value. */
  readonly present: readonly { readonly section: Section; readonly path: readonly string[]; readonly value: unknown }[];
  /** Keys that no plugin and no core section owns. */
  readonly strangers: readonly Finding[];
  /** Enabled sections whose plugin is not loaded. */
  readonly asleep: readonly (Finding & { readonly owner: string })[];
}

/** Walks down from the top-level keys to the sections. Keys below a section belong to its plugin. */
export function claim(value: Readonly<Record<string, unknown>>, composed: ComposedSchema): Claims {
  const present: { section: Section; path: readonly string[]; value: unknown }[] = [];
  const strangers: Finding[] = [];
  const asleep: (Finding & { owner: string })[] = [];
  const sections = new Map(composed.sections.map((section) => [section.at, section]));
  const dormant = new Map(composed.dormant.map(({ at, owner }) => [at, owner]));
  const names = [...sections.keys(), ...dormant.keys()];

  const visit = (object: Readonly<Record<string, unknown>>, above: readonly string[]): void => {
    for (const [key, inner] of Object.entries(object)) {
      if (above.length === 0 && CORE_KEYS.has(key)) continue;
      const path = [...above, key];
      const at = path.join(".");
      const section = sections.get(at);
      const owner = dormant.get(at);
      if (section !== undefined) present.push({ section, path, value: inner });
      else if (owner !== undefined) {
        const message = `belongs to ${owner}, which is not loaded: it has no effect; see svc plugin list`;
        if (isRecord(inner) && inner.enabled === true) asleep.push({ path, message, owner });
      } else if (names.some((name) => name.startsWith(`${at}.`))) {
        if (isRecord(inner)) visit(inner, path);
        else strangers.push({ path, message: "must be an object { ... }" });
      } else if (above.length > 0 || !Object.hasOwn(PASSED_THROUGH, key)) strangers.push({ path, message: strange(key, above, names) });
    }
  };
  visit(value, []);
  return { present, strangers, asleep };
}

function strange(key: string, above: readonly string[], names: readonly string[]): string {
  const level = above.length;
  const prefix = above.map((name) => `${name}.`).join("");
  const siblings = names.filter((name) => name.startsWith(prefix)).map((name) => name.split(".")[level] as string);
  const known = level === 0 ? [...CORE_KEYS, ...Object.keys(PASSED_THROUGH), ...siblings] : siblings;
  return `${unknownKey(key, [...new Set(known)])}; no plugin of this installation owns it`;
}
