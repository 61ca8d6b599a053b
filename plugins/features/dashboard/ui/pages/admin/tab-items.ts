import type { Schema } from "@svc/sdk";
import { type FormPath, isFields, overlap, readPath, valueAt } from "../../forms/form-path.ts";
import type { TAB_TITLES } from "../../words/admin.ts";

/** One of the ten tabs, by its fragment. */
export type TabId = keyof typeof TAB_TITLES;

/** The tabs in their order. */
export const TABS: readonly TabId[] = ["agents", "channels", "schedules", "webhooks", "mesh", "business", "boards", "actions", "tokens", "advanced"];

/** Where a tab's settings stand. The others have lists of their own. */
const ROOTS: Partial<Readonly<Record<TabId, string>>> = {
  agents: "agents",
  channels: "channels",
  schedules: "crons",
  webhooks: "webhooks",
  mesh: "mesh",
  business: "business",
  boards: "boards",
};

/** The tab of a fragment; the first one where it names none. */
export const tabOf = (fragment: string): TabId => TABS.find((tab) => tab === fragment.split("/")[0]) ?? "agents";

/** One entry of a tab's list: an agent, a webhook, a section. */
export interface Item {
  /** Stable while the page is open: what the fragment names. */
  readonly id: string;
  readonly label: string;
  readonly note: string;
  readonly path: FormPath;
  readonly schema: Schema;
  /** The entry can be removed. */
  readonly removable: boolean;
  /** A key of it whose entries stand in the list by themselves. */
  readonly without?: string;
}

/** The schema at a path of the whole one. */
export function schemaAt(schema: Schema, path: FormPath): Schema | undefined {
  return path.reduce<Schema | undefined>((at, key) => {
    if (at === undefined) return undefined;
    if (typeof key === "number") return at.items;
    const named = at.properties?.[key];
    if (named !== undefined) return named;
    if (isFields(at.additionalProperties)) return at.additionalProperties;
    const branch = [...(at.anyOf ?? []), ...(at.oneOf ?? []), ...(at.allOf ?? [])].map((one) => schemaAt(one, [key])).find((found) => found !== undefined);
    return branch;
  }, schema);
}

/** Returns the entries in the list of a tab, from the edited document. */
export function itemsOf(tab: TabId, document: unknown, schema: Schema): readonly Item[] {
  const root = ROOTS[tab];
  if (tab === "advanced") return sectionsOf(document, schema);
  if (root === undefined) return [];
  const value = valueAt(document, [root]);
  const own = schemaAt(schema, [root]) ?? {};
  if (tab === "webhooks" || tab === "boards") return listItems(root, value, own);
  if (tab === "mesh") return [section("mesh", own, "peers"), ...listItems("mesh.peers", valueAt(value, ["peers"]), own.properties?.["peers"] ?? {})];
  if (tab === "business") return [section("business", own)];
  const entry = isFields(own.additionalProperties) ? own.additionalProperties : {};
  const names = [...new Set([...Object.keys(own.properties ?? {}), ...(isFields(value) ? Object.keys(value) : [])])];
  return names.map((id) => {
    const name = valueAt(value, [id, "name"]);
    return {
      id,
      label: typeof name === "string" && name !== "" ? name : id,
      note: id,
      path: [root, id],
      schema: own.properties?.[id] ?? entry,
      removable: valueAt(value, [id]) !== undefined,
    };
  });
}

const section = (name: string, schema: Schema, without?: string): Item => ({
  id: `${name}-settings`,
  label: name === "mesh" ? "All peers" : "All settings",
  note: name,
  path: [name],
  schema:
    without === undefined ? schema : { ...schema, properties: Object.fromEntries(Object.entries(schema.properties ?? {}).filter(([key]) => key !== without)) },
  removable: false,
  ...(without === undefined ? {} : { without }),
});

function listItems(at: string, value: unknown, schema: Schema): readonly Item[] {
  const path = at.split(".");
  return (Array.isArray(value) ? value : []).map((entry, place) => {
    const fields = isFields(entry) ? entry : {};
    const named = ["id", "name", "source"].map((key) => fields[key]).find((text) => typeof text === "string" && text !== "");
    const id = typeof named === "string" ? named : String(place + 1);
    const note = ["url", "source", "description"].map((key) => fields[key]).find((text) => typeof text === "string" && text !== "" && text !== id);
    const label = typeof fields["name"] === "string" && fields["name"] !== "" ? fields["name"] : id;
    return { id: `${place}-${id}`, label, note: typeof note === "string" ? note : id, path: [...path, place], schema: schema.items ?? {}, removable: true };
  });
}

/** Sections that no other tab has, and the whole document first. */
function sectionsOf(document: unknown, schema: Schema): readonly Item[] {
  const taken = new Set(Object.values(ROOTS));
  const names = [...new Set([...Object.keys(schema.properties ?? {}), ...(isFields(document) ? Object.keys(document) : [])])].filter(
    (name) => !taken.has(name) && name !== "$schema",
  );
  return names.sort().map((name) => ({
    id: name,
    label: name,
    note: "",
    path: [name],
    schema: schema.properties?.[name] ?? {},
    removable: valueAt(document, [name]) !== undefined,
  }));
}

/** Where the page shows a path: its tab and, where there is one, the entry of the list. */
export function placeOf(path: FormPath, document: unknown, schema: Schema): { readonly tab: TabId; readonly item?: string } {
  const tab = TABS.find((one) => ROOTS[one] !== undefined && ROOTS[one] === path[0]) ?? "advanced";
  const items = itemsOf(tab, document, schema).filter((item) => item.path.length <= path.length && overlap(item.path, path));
  const item = [...items].sort((one, other) => other.path.length - one.path.length)[0];
  return { tab, ...(item === undefined ? {} : { item: item.id }) };
}

/** Returns the number of these paths at or below one. */
export const countBelow = (path: FormPath, paths: readonly string[]): number =>
  paths.filter((text) => {
    const one = readPath(text);
    return one.length >= path.length && overlap(one, path);
  }).length;
