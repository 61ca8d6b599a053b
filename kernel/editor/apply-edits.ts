import type { SettingEdit, SettingPath } from "@svc/sdk";
import { type ConfigPath, formatPath, isForbiddenKey, isRecord, valueAt } from "../base/config-path.ts";
import { referencesBelow } from "../base/config-text/expand.ts";
import { parseText } from "../base/config-text/parse.ts";
import { fail } from "../base/errors.ts";
import { cutValue, putValue } from "./edit.ts";
import { isMasked } from "./mask.ts";

/** Paths and variables that a change may touch. */
export interface EditRights {
  /** Throws for a path that is not the caller's. */
  requirePath(path: ConfigPath): void;
  /** Throws for a variable that the caller may not refer to in this text. */
  requireReference(name: string, path: ConfigPath, raw: unknown): void;
}

/** A text with edits made in it. */
export interface Edited {
  readonly text: string;
  /** Where each edit was made, list places as numbers of the text before that edit. */
  readonly paths: readonly ConfigPath[];
}

/** More edits than any form has. */
const MOST = 1_000;

/**
 * Applies edits to the text of svc.json, in their order; every other character stays. Validates only their form. Throws `SVC_CONFIG_PATH`,
 * `SVC_CONFIG_KEY`, `SVC_CONFIG_VALUE`, `SVC_CONFIG_REFERENCE`, and the errors of the rights.
 */
export function applyEdits(text: string, edits: readonly SettingEdit[], rights: EditRights): Edited {
  if (!Array.isArray(edits) || edits.length === 0 || edits.length > MOST)
    throw fail("SVC_CONFIG_VALUE", { path: "the list of edits", reason: `must have 1 to ${MOST} entries` });
  const paths: ConfigPath[] = [];
  let changed = text;
  for (const edit of edits) {
    const { raw } = parseText(changed, "svc.json");
    const path = placeOf(edit, raw);
    rights.requirePath(path);
    paths.push(path);
    if (edit.value === undefined) {
      changed = cutValue(changed, path);
      continue;
    }
    requireJson(edit.value, path);
    requireReferences(edit, path, raw, rights);
    if (JSON.stringify(valueAt(raw, path)) === JSON.stringify(edit.value)) continue;
    changed = putValue(changed, path, edit.value);
  }
  return { text: changed, paths };
}

/** Resolves a path to one with numeric indexes: of entries named by `id`, and of digits in the place of a list. */
function placeOf({ path, value }: SettingEdit, raw: unknown): ConfigPath {
  if (!Array.isArray(path) || path.length === 0) throw fail("SVC_CONFIG_PATH", { path: "", reason: "a path has at least one key" });
  const place: (string | number)[] = [];
  for (const [depth, segment] of (path as SettingPath).entries()) {
    const holder = valueAt(raw, place);
    if (typeof segment === "object" && segment !== null) place.push(entryOf(segment.id, holder, place, depth === path.length - 1 && value !== undefined));
    else if (typeof segment === "number" && Number.isInteger(segment) && segment >= 0)
      place.push(Array.isArray(holder) || holder === undefined ? segment : String(segment));
    else if (typeof segment === "string" && isForbiddenKey(segment)) throw fail("SVC_CONFIG_KEY", { where: formatPath(place) || "svc.json", key: segment });
    else if (typeof segment === "string") place.push(Array.isArray(holder) && /^\d+$/.test(segment) ? Number(segment) : segment);
    else throw fail("SVC_CONFIG_PATH", { path: formatPath(place), reason: "its parts are keys, places in lists or { id }" });
  }
  return place;
}

/** The place of the entry with that id; the one after the last where it is to be added. */
function entryOf(id: unknown, holder: unknown, above: ConfigPath, adding: boolean): number {
  const where = formatPath(above);
  if (typeof id !== "string") throw fail("SVC_CONFIG_PATH", { path: where, reason: "{ id } needs a text" });
  if (holder !== undefined && !Array.isArray(holder)) throw fail("SVC_CONFIG_PATH", { path: where, reason: `is no list with an entry '${id}'` });
  const list: readonly unknown[] = holder ?? [];
  const at = list.findIndex((entry) => isRecord(entry) && entry.id === id);
  if (at !== -1) return at;
  if (adding) return list.length;
  throw fail("SVC_CONFIG_PATH", { path: where, reason: `has no entry with the id '${id}'` });
}

function requireJson(value: unknown, path: ConfigPath): void {
  const refuse = (reason: string) => fail("SVC_CONFIG_VALUE", { path: formatPath(path), reason });
  const visit = (at: unknown, depth: number): void => {
    if (depth > 60) throw refuse("is nested too deep");
    if (typeof at === "number" ? !Number.isFinite(at) : at === undefined || !["string", "boolean", "object"].includes(typeof at))
      throw refuse("holds something that JSON does not know");
    if (typeof at === "string" && isMasked(at))
      throw refuse("holds the mask that stands in place of a credential; leave the credential out of the edits, or give its value");
    if (typeof at !== "object" || at === null) return;
    const proto = Object.getPrototypeOf(at);
    if (!Array.isArray(at) && proto !== Object.prototype && proto !== null) throw refuse("holds something that JSON does not know");
    for (const [key, inner] of Object.entries(at)) {
      if (isForbiddenKey(key)) throw fail("SVC_CONFIG_KEY", { where: formatPath(path), key });
      visit(inner, depth + 1);
    }
  };
  visit(value, 0);
}

function requireReferences(edit: SettingEdit, path: ConfigPath, raw: unknown, rights: EditRights): void {
  for (const name of referencesBelow(edit.value)) {
    const reference = `\${${name}}`;
    if (edit.reference !== true)
      throw fail("SVC_CONFIG_REFERENCE", { path: formatPath(path), reference, reason: "an edit that means it says so with reference: true" });
    rights.requireReference(name, path, raw);
  }
}
