import type { Schema } from "../config.ts";
import { svcError } from "../errors.ts";
import type { SettingEdit, SettingPath, Settings } from "../settings.ts";
import { checkSchema } from "./check-schema.ts";

/** Options of svc.json in memory. */
export interface MemorySettingsOptions {
  /** Content of svc.json, from its top. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The plugin's section, where it owns one: without `all` nothing else may be read or changed. */
  readonly at?: string;
  readonly schema?: Schema;
  readonly all?: boolean;
}

/** `ctx.settings` in memory: the daemon's rules for paths, references, revisions and the schema; credentials are not masked, nothing reloads. */
export function createMemorySettings({ document, at, schema, all = false }: MemorySettingsOptions): Settings {
  const section = at?.split(".") ?? [];
  let root = structuredClone(document) as Record<string, unknown>;
  let revision = 1;
  const shown = () => {
    if (all || at === undefined) return all ? root : {};
    const own = valueAt(root, section);
    return own === undefined ? {} : (section.reduceRight<unknown>((inner, key) => ({ [key]: inner }), own) as Record<string, unknown>);
  };
  const refuse = (code: string, message: string) => svcError(code, message, { status: 400 });

  function edited(edits: readonly SettingEdit[]): { next: Record<string, unknown>; paths: string[] } {
    const next = structuredClone(root);
    const paths = edits.map((edit) => {
      const path = placeOf(next, edit.path, edit.value !== undefined, refuse);
      const name = path.join(".");
      if (!all && (at === undefined || section.some((key, index) => path[index] !== key)))
        throw refuse("SVC_SETTINGS_SECTION", `The plugin may not touch ${name}: it owns ${at ?? "no section"}.`);
      if (edit.reference !== true && /\$\{[A-Za-z_]\w*\}/.test(JSON.stringify(edit.value ?? null)))
        throw refuse("SVC_CONFIG_REFERENCE", `${name} holds a reference; an edit that means it says so with reference: true.`);
      put(next, path, edit.value === undefined ? undefined : structuredClone(edit.value));
      return name;
    });
    return { next, paths };
  }

  const settings: Settings = {
    read: async () => ({ document: structuredClone(shown()), revision: String(revision), secrets: [], problems: [] }),
    schema: async () => schema ?? {},
    async change(edits, { expect }) {
      if (expect !== undefined && expect !== String(revision)) throw refuse("SVC_CONFIG_CHANGED", "svc.json was changed by someone else meanwhile.");
      const { next, paths } = edited(edits);
      const own = at === undefined ? undefined : valueAt(next, section);
      const wrong = schema === undefined || own === undefined ? undefined : checkSchema(schema, own);
      if (wrong !== undefined) throw refuse("SVC_CONFIG_INVALID", `svc.json cannot be used: ${at}: ${wrong}`);
      if (JSON.stringify(next) === JSON.stringify(root)) return { revision: String(revision), reloaded: [] };
      root = next;
      revision += 1;
      return { revision: String(revision), reloaded: paths };
    },
    async preview(edits, { expect } = {}) {
      if (expect !== undefined && expect !== String(revision)) throw refuse("SVC_CONFIG_CHANGED", "svc.json was changed by someone else meanwhile.");
      const { next, paths } = edited(edits);
      const own = at === undefined ? undefined : valueAt(next, section);
      const wrong = schema === undefined || own === undefined ? undefined : checkSchema(schema, own);
      const problems = wrong === undefined ? [] : [{ path: at ?? "", message: wrong, severity: "error" as const, fresh: true as const }];
      return { revision: String(revision), paths, problems, restartRequired: [], difference: [] };
    },
    plugins: async () => [],
    offered: async () => [],
    async release(plugin) {
      throw refuse("SVC_SETTINGS_PLUGIN", `Plugin ${plugin} is not in quarantine.`);
    },
    keepSecret: async ({ name, path }, options) =>
      path === undefined
        ? { revision: String(revision), reloaded: [] }
        : settings.change([{ path: path.split("."), value: `\${${name}}`, reference: true }], options),
  };
  return settings;
}

type Place = (string | number)[];

function valueAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined),
    value,
  );
}

function placeOf(root: unknown, path: SettingPath, adding: boolean, refuse: (code: string, message: string) => Error): Place {
  const place: Place = [];
  for (const [depth, segment] of path.entries()) {
    if (typeof segment !== "object") {
      place.push(segment);
      continue;
    }
    const list = (valueAt(root, place) ?? []) as readonly { id?: unknown }[];
    const found = list.findIndex(({ id }) => id === segment.id);
    if (found === -1 && !(adding && depth === path.length - 1)) throw refuse("SVC_CONFIG_PATH", `${place.join(".")} has no entry '${segment.id}'.`);
    place.push(found === -1 ? list.length : found);
  }
  return place;
}

function put(root: Record<string, unknown>, path: Place, value: unknown): void {
  let at = root as Record<string | number, unknown>;
  for (const [depth, key] of path.slice(0, -1).entries()) {
    at[key] ??= typeof path[depth + 1] === "number" ? [] : {};
    at = at[key] as Record<string | number, unknown>;
  }
  const last = path.at(-1) as string | number;
  if (value !== undefined) at[last] = value;
  else if (Array.isArray(at)) at.splice(Number(last), 1);
  else delete at[last];
}
