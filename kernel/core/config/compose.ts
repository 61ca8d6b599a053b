import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";
import { isForbiddenKey } from "../../base/config-path.ts";
import { restartPaths } from "../../base/schema/schema-walk.ts";
import { CONTRACT_AGENT_KEYS } from "./contract-keys.ts";
import { AGENT_KEYS, type Chosen, CORE_KEYS, coreSchema, PASSED_THROUGH } from "./core-schema.ts";

/** A section of svc.json that a plugin owns. */
export interface Section {
  /** `acme`, `channels.acme`. */
  readonly at: string;
  /** Of an object or of a list. */
  readonly schema: Schema;
  readonly owner: string;
  /** The module of checks that the plugin's build made, see `schemaCheck`. */
  readonly prepared?: string;
  /** The plugin's own check of a section that matches its schema. */
  check?(section: unknown, known: { readonly agents: readonly string[] }): readonly SectionProblem[];
}

/** Keys of agents that a plugin adds. */
export interface AgentKeys {
  readonly owner: string;
  readonly schema: ObjectSchema;
  readonly prepared?: string;
  /** The plugin's own check of an agent whose keys match its schema. `section` is its own. */
  check?(agent: Readonly<Record<string, unknown>>, section: unknown): readonly SectionProblem[];
}

/** Parts of the configuration's schema, beside the core. */
export interface Parts {
  readonly sections: readonly Section[];
  /** The properties of each schema are keys of `agents.<id>`. */
  readonly agentKeys: readonly AgentKeys[];
  /** Tiers that an agent may name, and the default one. */
  readonly tiers: readonly string[];
  readonly defaultTier?: string | undefined;
  /** Ways to build a context, and the one that counts where nothing is named. */
  readonly strategies?: readonly string[];
  readonly defaultStrategy?: string | undefined;
  /** Sections of known plugins that are not loaded: nothing checks them, and nothing takes them for a mistake. */
  readonly dormant?: readonly { readonly at: string; readonly owner: string }[];
}

/** The schema of one configuration. Nothing is compiled until a document has the section. */
export interface ComposedSchema {
  /** The kernel's own part. */
  readonly core: ObjectSchema;
  /** Values that plugins contribute to it. */
  readonly chosen: Chosen;
  /** Everything in one, for looking up settings; not for validating. */
  readonly root: ObjectSchema;
  readonly sections: readonly Section[];
  readonly agentKeys: Parts["agentKeys"];
  /** Keys of agents in the contract that no plugin here owns: accepted without validation. */
  readonly unowned: readonly string[];
  readonly tiers: readonly string[];
  readonly dormant: readonly { readonly at: string; readonly owner: string }[];
  /** Refused claims of plugins, each with the reason: these plugins cannot run. */
  readonly refused: readonly { readonly owner: string; readonly at: string; readonly reason: string }[];
  /** See `restartPaths` in schema-at.ts. */
  readonly restartPaths: readonly string[];
}

const SECTION = /^[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)*$/;
const coreSchemas = new Map<string, ObjectSchema>();

/** Composes the schemas of the core and of the plugins. Never throws: an invalid claim is in `refused`, and the first plugin keeps a contested name. */
export function composeSchema(parts: Parts): ComposedSchema {
  const refused: { owner: string; at: string; reason: string }[] = [];
  const sections: Section[] = [];
  for (const section of parts.sections) {
    const reason = troubleWith(section, sections);
    if (reason === undefined) sections.push(section);
    else refused.push({ owner: section.owner, at: section.at, reason });
  }

  const agentKeys: Parts["agentKeys"][number][] = [];
  const owners = new Map<string, string>();
  const added: Record<string, Schema> = {};
  for (const keys of parts.agentKeys) {
    const { owner, schema } = keys;
    const names = Object.keys(schema.properties ?? {});
    const taken = names.find((name) => AGENT_KEYS.has(name) || owners.has(name) || isForbiddenKey(name));
    if (taken !== undefined) {
      refused.push({ owner, at: `agents.*.${taken}`, reason: `this key of an agent belongs to ${owners.get(taken) ?? "the kernel"}` });
      continue;
    }
    for (const name of names) {
      owners.set(name, owner);
      added[name] = (schema.properties as Record<string, Schema>)[name] as Schema;
    }
    agentKeys.push(keys);
  }

  const unowned = [...CONTRACT_AGENT_KEYS].filter((name) => !owners.has(name));
  for (const name of unowned) added[name] = {};
  const dormant = parts.dormant ?? [];
  const root = rootOf(coreSchema(added, parts), [...dormant.map(({ at }) => ({ at, schema: {} })), ...sections]);
  return {
    core: openCore([...owners.keys(), ...unowned], parts),
    chosen: parts,
    root,
    sections,
    agentKeys,
    unowned,
    tiers: parts.tiers,
    dormant,
    refused,
    restartPaths: restartPaths(root),
  };
}

function troubleWith({ at, owner }: Section, before: readonly Section[]): string | undefined {
  const [top = ""] = at.split(".");
  if (!SECTION.test(at) || at.split(".").some(isForbiddenKey)) return `'${at}' cannot name a section`;
  if (CORE_KEYS.has(top)) return `'${top}' belongs to the kernel; a plugin adds keys of agents with agentConfig`;
  const other = before.find((section) => `${section.at}.`.startsWith(`${at}.`) || `${at}.`.startsWith(`${section.at}.`));
  if (other === undefined) return undefined;
  return other.owner === owner ? `${owner} claims '${other.at}' already` : `'${other.at}' belongs to ${other.owner}`;
}

/**
 * Returns the core schema that ignores the plugins' keys of agents: those are validated one plugin at a time. Cached: the same object for the same
 * keys, so that it is compiled once.
 */
function openCore(names: readonly string[], chosen: Chosen): ObjectSchema {
  const key = [names.toSorted().join(" "), chosen.defaultTier ?? "", chosen.defaultStrategy ?? "", ...(chosen.strategies ?? [])].join(",");
  const schema = coreSchemas.get(key) ?? coreSchema(Object.fromEntries(names.map((name) => [name, {}])), chosen);
  coreSchemas.set(key, schema);
  return schema;
}

/** Levels that hold the sections of several plugins. */
const DESCRIBED: Readonly<Record<string, Schema>> = { channels: { description: "channels by name" }, tiers: { description: "engines by name" } };

/** A dormant section has no schema: it is accepted unchanged, so that its plugin can be switched on. */
function rootOf(core: ObjectSchema, sections: readonly { readonly at: string; readonly schema: Schema }[]): ObjectSchema {
  const properties: Record<string, Schema> = { ...PASSED_THROUGH, ...core.properties };
  for (const { at, schema } of sections) {
    const keys = at.split(".");
    const last = keys.pop() as string;
    let level = properties;
    for (const key of keys) {
      const inner: Record<string, Schema> = { ...level[key]?.properties };
      level[key] = { ...level[key], ...DESCRIBED[key], type: "object", properties: inner };
      level = inner;
    }
    level[last] = schema;
  }
  return { type: "object", properties };
}
