import type { Schema } from "@svc/sdk";
import { defaultsOf, emptySection } from "@svc/sdk/host";
import { type ConfigPath, formatPath, isRecord, parsePath } from "../../base/config-path.ts";
import { crossRules } from "../../base/config-text/core-rules.ts";
import { malformedIn } from "../../base/config-text/expand.ts";
import { judgeSecrets, scrubbed, secretPlaces } from "../../base/config-text/secrets.ts";
import { frozen } from "../../base/frozen.ts";
import { explain, type Finding } from "../../base/schema/explain.ts";
import { schemaCheck } from "../../base/schema/schema-check.ts";
import { claim } from "./claims.ts";
import type { ComposedSchema } from "./compose.ts";
import { CONTRACT_AGENT_KEYS, CONTRACT_SECTIONS } from "./contract-keys.ts";
import { CORE_KEYS, CORE_SCHEMA, fillChosen } from "./core-schema.ts";
import type { ConfigDocument } from "./document.ts";

/** One problem that a person should fix or review. */
export interface ConfigProblem {
  /** `agents.assistant.maxExecutionMinutes`. */
  readonly path: string;
  /** From 1; the nearest place above when the key itself is absent. Unset for a configuration passed in code. */
  readonly line?: number;
  readonly column?: number;
  /** The error and the allowed values, to be read after the path. Contains no secret. */
  readonly message: string;
  /** The plugin whose section or key of an agent it is: only that plugin cannot run. */
  readonly owner?: string;
  /** The agent concerned: the others can run. */
  readonly agent?: string;
  readonly severity: "error" | "warning";
}

/** A configuration that was checked. With an error among the problems, the part concerned may have any shape. */
export interface CheckedConfig {
  /** Expanded, defaults of all present sections filled in, frozen. Holds secrets. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly problems: readonly ConfigProblem[];
  /** Values to be scrubbed from everything that leaves the process. */
  readonly secrets: readonly string[];
  readonly restartPaths: readonly string[];
  /** A plugin's section with its defaults; if the document has none, the defaults alone. */
  section(at: string): unknown;
}

/** Validates the core and each plugin's section separately. Never throws; errors are in `problems`, in the order of the document. */
export function checkDocument(document: ConfigDocument, composed: ComposedSchema): CheckedConfig {
  const value = structuredClone(document.expanded) as Record<string, unknown>;
  const problems: ConfigProblem[] = [];
  const pluginKeys = new Map(composed.agentKeys.flatMap(({ owner, schema }) => Object.keys(schema.properties ?? {}).map((key) => [key, owner])));

  const ownerOf = (path: ConfigPath): string | undefined => {
    const [top, , key] = path;
    if (top === "agents") return pluginKeys.get(String(key));
    return composed.sections.find(({ at }) => at.split(".").every((name, index) => path[index] === name))?.owner;
  };
  const add = ({ path, message }: Finding, severity: ConfigProblem["severity"] = "error", owner = ownerOf(path)): void => {
    const unset = document.references(path).filter((name) => document.missing.includes(name));
    const agent = path[0] === "agents" && path.length > 1 ? String(path[1]) : undefined;
    problems.push({
      path: formatPath(path),
      ...nearestPosition(document, path),
      message: unset.length === 0 ? message : `${message}; the environment variable ${unset.join(" and ")} is empty or not set`,
      ...(owner === undefined || isOfContract(path) ? {} : { owner }),
      ...(agent === undefined ? {} : { agent }),
      severity,
    });
  };

  const { present, strangers, asleep } = claim(value, composed);
  const core = Object.fromEntries(Object.entries(value).filter(([key]) => CORE_KEYS.has(key)));
  for (const finding of checkCore(core, composed, new Set([...pluginKeys.keys(), ...composed.unowned]))) add(finding);
  Object.assign(value, core);
  for (const keys of composed.agentKeys) checkAgentKeys(value, keys, add);
  const wrong = new Set(problems.map(({ path }) => path));
  for (const finding of crossRules(value, composed.tiers)) if (!wrong.has(formatPath(finding.path))) add(finding);

  const agents = Object.keys(isRecord(value.agents) ? value.agents : {});
  for (const { section, path, value: inner } of present) {
    const found = validate(section, inner);
    for (const { path: below, message } of found) add({ path: [...path, ...below], message }, "error", section.owner);
    if (found.length > 0) continue;
    for (const { path: below, message, severity = "warning" } of section.check?.(inner, { agents }) ?? [])
      add({ path: [...path, ...(below === "" ? [] : parsePath(below))], message }, severity, section.owner);
  }
  for (const { owner, check } of composed.agentKeys) {
    const section = present.find((one) => one.section.owner === owner)?.value;
    for (const [id, agent] of Object.entries(isRecord(value.agents) ? value.agents : {})) {
      for (const { path: below, message, severity = "warning" } of isRecord(agent) ? (check?.(agent, section) ?? []) : []) {
        const path = ["agents", id, ...(below === "" ? [] : parsePath(below))];
        if (!wrong.has(formatPath(path))) add({ path, message }, severity, owner);
      }
    }
  }
  for (const { owner, at, reason } of composed.refused) problems.push({ path: at, message: reason, owner, severity: "error" });
  for (const finding of strangers) add(finding);
  for (const { owner, ...finding } of asleep) add(finding, "warning", owner);
  for (const finding of emptied(document)) add(finding, "warning");
  for (const finding of malformed(document)) add(finding, "warning");

  const places = secretPlaces(value, composed.root);
  const failed = new Set(problems.filter(({ severity }) => severity === "error").map(({ path }) => path));
  for (const { severity, ...finding } of judgeSecrets(places)) if (!failed.has(formatPath(finding.path))) add(finding, severity);

  return {
    value: frozen(value),
    problems: problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0) || (a.column ?? 0) - (b.column ?? 0)),
    secrets: scrubbed(places),
    restartPaths: composed.restartPaths,
    section(at) {
      const found = present.find(({ section }) => section.at === at);
      const section = composed.sections.find((one) => one.at === at);
      const empty = emptySection(section?.schema);
      if (found !== undefined && Array.isArray(found.value) === Array.isArray(empty)) return found.value;
      if (section !== undefined) validate(section, empty);
      return frozen(empty);
    },
  };
}

/** An error in a key of the contract is an error of the whole document, whichever plugin owns the key. */
const isOfContract = ([top, , key]: ConfigPath): boolean =>
  top === "agents" ? CONTRACT_AGENT_KEYS.has(String(key)) : Object.hasOwn(CONTRACT_SECTIONS, String(top));

/** A schema and where the build has compiled it, if it has. */
interface CheckedSchema {
  readonly schema: Schema;
  readonly prepared?: string;
}

/** The checks of the kernel's own keys, compiled by the build. */
const PREPARED = "#checks/config";

/**
 * Validates the kernel's own keys and fills in defaults. Keys of agents that plugins added are validated one plugin at a time; errors come from the
 * whole schema, which knows those keys by name.
 */
function checkCore(core: Record<string, unknown>, { core: whole, chosen }: ComposedSchema, others: ReadonlySet<string>): readonly Finding[] {
  const agents = Object.entries(isRecord(core.agents) ? core.agents : {});
  const own = (agent: unknown) => (isRecord(agent) ? Object.fromEntries(Object.entries(agent).filter(([key]) => !others.has(key))) : agent);
  const bare = isRecord(core.agents) ? { ...core, agents: Object.fromEntries(agents.map(([id, agent]) => [id, own(agent)])) } : core;
  if (!schemaCheck(CORE_SCHEMA, "document", PREPARED).fits(bare) || !fillChosen(bare, chosen)) {
    const check = schemaCheck(whole, "document");
    return check.fits(core) ? [] : explain(check.errors(core), core);
  }
  const { agents: judged, ...rest } = bare as Record<string, Record<string, object>>;
  Object.assign(core, rest);
  if (agents.length === 0) core.agents = judged;
  for (const [id, agent] of agents) Object.assign(agent as object, judged?.[id]);
  return [];
}

/** A schema that ajv cannot use is a finding about its plugin. */
function validate({ schema, prepared }: CheckedSchema, value: unknown): readonly Finding[] {
  try {
    const check = schemaCheck(schema, "document", prepared);
    return check.fits(value) ? [] : explain(check.errors(value), value);
  } catch (error) {
    return [{ path: [], message: `cannot be checked: the plugin's schema is not usable (${(error as Error).message})` }];
  }
}

/** Validates the keys that one plugin added to agents, by its schema alone, and fills in defaults. */
function checkAgentKeys(
  value: Record<string, unknown>,
  { owner, ...keysOf }: CheckedSchema & { readonly owner: string },
  add: (finding: Finding, severity: "error", owner: string) => void,
): void {
  if (takesAnything(keysOf.schema)) return;
  const keys = Object.keys(keysOf.schema.properties ?? {});
  for (const [id, agent] of Object.entries(isRecord(value.agents) ? value.agents : {})) {
    if (!isRecord(agent)) continue;
    const own = Object.fromEntries(keys.filter((key) => Object.hasOwn(agent, key)).map((key) => [key, agent[key]]));
    if (Object.keys(own).length === 0 && needsNone(keysOf.schema)) {
      Object.assign(agent, defaultsOf(keysOf.schema));
      continue;
    }
    for (const { path, message } of validate(keysOf, own)) add({ path: ["agents", id, ...path], message }, "error", owner);
    Object.assign(agent, own);
  }
}

/** The keys of a plugin that is not loaded. */
const takesAnything = ({ properties = {}, ...rest }: Schema): boolean =>
  Object.keys(rest).join() === "type" && Object.values(properties).every((key) => Object.keys(key).length === 0);

/** Whether all keys are optional: the defaults of such a schema need no validation. */
const needsNone = ({ type: _, description: _description, additionalProperties: _others, properties: _properties, ...rest }: Schema): boolean =>
  Object.keys(rest).length === 0;

/** Warnings of text that looks like a reference with a default or without its brace, and is used as it is. */
function malformed(document: ConfigDocument): readonly Finding[] {
  const findings: Finding[] = [];
  const visit = (at: unknown, path: ConfigPath): void => {
    if (typeof at === "string") {
      const [name] = malformedIn(at);
      if (name === undefined) return;
      const meant = name === "" ? "${NAME}" : `\${${name}}`;
      findings.push({
        path,
        message: `holds \${${name} that is no reference and is taken as it is; write ${meant}, without a default, and give the variable a value`,
      });
    } else if (typeof at === "object" && at !== null) {
      for (const [key, inner] of Object.entries(at)) visit(inner, [...path, Array.isArray(at) ? Number(key) : key]);
    }
  };
  visit(document.raw, []);
  return findings;
}

/** An unset variable in a list leaves an empty entry. It must match nothing (CFG-04), and the operator should know. */
function emptied(document: ConfigDocument): readonly Finding[] {
  if (document.missing.length === 0) return [];
  const findings: Finding[] = [];
  const visit = (at: unknown, path: ConfigPath): void => {
    if (typeof at !== "object" || at === null) return;
    const isList = Array.isArray(at);
    for (const [key, inner] of Object.entries(at)) {
      const below = [...path, isList ? Number(key) : key];
      if (isList && inner === "" && document.references(below).length > 0) findings.push({ path: below, message: "is an empty entry, which matches nothing" });
      else visit(inner, below);
    }
  };
  visit(document.expanded, []);
  return findings;
}

function nearestPosition(document: ConfigDocument, path: ConfigPath): { readonly line?: number; readonly column?: number } {
  for (let length = path.length; length >= 0; length -= 1) {
    const position = document.locate(path.slice(0, length));
    if (position !== undefined) return position;
  }
  return {};
}
