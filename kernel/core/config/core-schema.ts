import type { ObjectSchema, Schema } from "@svc/sdk";
import { choice, text } from "../../base/schema/shapes.ts";
import { CONTRACT_SECTIONS } from "./contract-keys.ts";
import { AGENT, AGENT_ID } from "./sections/agent-keys.ts";
import { NODE } from "./sections/node-sections.ts";
import { EVENTS, PLUGINS, PROCESS_POOL, RESUME, RETENTION, SESSION, SHUTDOWN } from "./sections/runtime-sections.ts";

/** Sections whose fields no document lists: accepted without validation (CFG-20). A plugin that owns one of them provides its schema. */
export const PASSED_THROUGH: Readonly<Record<string, Schema>> = {
  $schema: { type: "string", description: "where an editor finds the schema of this file; has no effect" },
  ...CONTRACT_SECTIONS,
};

/** Keys of an agent that the kernel itself knows; a plugin adds none of these names. */
export const AGENT_KEYS: ReadonlySet<string> = new Set(Object.keys(AGENT.properties ?? {}));

/** Values of the kernel's own keys that plugins contribute. */
export interface Chosen {
  /** Default tier, for agents without one. */
  readonly defaultTier?: string | undefined;
  /** Ways to build a context, and the one that counts where nothing is named. */
  readonly strategies?: readonly string[];
  readonly defaultStrategy?: string | undefined;
}

/** The schema of the kernel's own keys, with the keys of agents that plugins added. */
export function coreSchema(agentKeys: Readonly<Record<string, Schema>>, { defaultTier, defaultStrategy, strategies = [] }: Chosen): ObjectSchema {
  const own = AGENT.properties;
  const tier = defaultTier === undefined ? own.tier : { ...own.tier, default: defaultTier };
  const strategy = (description: string): Schema => (strategies.length === 0 ? text(description) : choice(description, strategies));
  const properties = { ...own, tier, contextStrategy: strategy("in place of session.contextStrategy"), ...agentKeys };
  const agent: ObjectSchema = { ...AGENT, properties };
  const contextStrategy = { ...strategy("how context is built"), ...(defaultStrategy === undefined ? {} : { default: defaultStrategy }) };
  return {
    type: "object",
    required: ["node"],
    properties: {
      node: NODE,
      agents: { type: "object", description: "agents by id", default: {}, propertyNames: { pattern: AGENT_ID }, additionalProperties: agent },
      session: { ...SESSION, properties: { ...SESSION.properties, contextStrategy } },
      processPool: PROCESS_POOL,
      plugins: PLUGINS,
      shutdown: SHUTDOWN,
      resume: RESUME,
      events: EVENTS,
      retention: RETENTION,
    },
  };
}

/** The schema of the kernel's own keys alone, which the build compiles; `fillChosen` adds the values of plugins. */
export const CORE_SCHEMA: ObjectSchema = coreSchema({}, {});

/** Fills the defaults that plugins contribute into a value that fits `CORE_SCHEMA`; false where it names a strategy that no plugin has. */
export function fillChosen(value: Readonly<Record<string, unknown>>, { defaultTier, defaultStrategy, strategies = [] }: Chosen): boolean {
  const session = value.session as { contextStrategy?: string };
  const agents = Object.values(value.agents as Record<string, { tier?: string; contextStrategy?: string }>);
  if (defaultStrategy !== undefined) session.contextStrategy ??= defaultStrategy;
  for (const agent of agents) if (defaultTier !== undefined) agent.tier ??= defaultTier;
  return strategies.length === 0 || [session, ...agents].every(({ contextStrategy: name }) => name === undefined || strategies.includes(name));
}

/** The top-level keys that the kernel owns. */
export const CORE_KEYS: ReadonlySet<string> = new Set(Object.keys(CORE_SCHEMA.properties ?? {}));
