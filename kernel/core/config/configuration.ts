import type { Log } from "@svc/sdk";
import { parsePath } from "../../base/config-path.ts";
import { fail } from "../../base/errors.ts";
import { rememberLastGood } from "../../base/last-good.ts";
import { readEntry } from "../../sources/source.ts";
import type { ReloadReport } from "../boot/kernel-api.ts";
import type { Host } from "../host/host.ts";
import type { Wanted } from "../host/wanted.ts";
import type { CheckedConfig, ConfigProblem } from "./check.ts";
import { checkDocument } from "./check.ts";
import type { ComposedSchema, Parts } from "./compose.ts";
import { composeSchema } from "./compose.ts";
import { CORE_KEYS } from "./core-schema.ts";
import type { ConfigDocument } from "./document.ts";

/** A configuration that was read and checked. */
export interface Configuration {
  readonly document: ConfigDocument;
  readonly composed: ComposedSchema;
  readonly checked: CheckedConfig;
  /** Expanded, defaults filled in, frozen. */
  readonly value: Readonly<Record<string, unknown>>;
  readonly wanted: Wanted;
  /** Agents that cannot run because a variable of theirs is not set, each with the reason; the others can. */
  readonly unusable: ReadonlyMap<string, string>;
}

/** Imports the plugins that the document names, composes the schema of theirs and the core's, and checks the document. Never throws. */
export async function examine(document: ConfigDocument, host: Host): Promise<Configuration> {
  const usualTier = host.defaultTier();
  await host.load(wantedOf(document.expanded as Record<string, unknown>, usualTier, new Map(), (path) => sectionAt(document.expanded, path)));
  const composed = composeSchema({ ...partsOf(host), dormant: host.dormant() });
  const checked = checkDocument(document, composed);
  const broken = new Map<string, string>();
  const unusable = new Map<string, string>();
  const note = (map: Map<string, string>, key: string, problem: ConfigProblem) =>
    map.set(key, [map.get(key), describeProblem(problem)].filter(Boolean).join("; "));
  for (const problem of checked.problems.filter(({ severity }) => severity === "error")) {
    if (problem.owner !== undefined) note(broken, problem.owner, problem);
    else if (problem.agent !== undefined && comesFromUnset(document, problem)) note(unusable, problem.agent, problem);
  }
  const present = (path: string) =>
    CORE_KEYS.has(path) ? checked.value[path] : sectionAt(document.expanded, path) === undefined ? undefined : checked.section(path);
  return { document, composed, checked, value: checked.value, wanted: wantedOf(checked.value, usualTier, broken, present), unusable };
}

/** Parts that the plugins of a host add to the schema. */
export const partsOf = (host: Host): Parts => ({
  sections: host.sections(),
  agentKeys: host.agentKeys(),
  tiers: host.tierNames(),
  defaultTier: host.defaultTier(),
  strategies: host.strategies(),
  defaultStrategy: host.defaultStrategy(),
});

/**
 * As `examine`, but throws `SVC_CONFIG_INVALID` with all `problems` if the core is unusable. An error in a plugin's section concerns that plugin
 * alone, and a missing variable of an agent that agent.
 */
export async function readConfiguration(document: ConfigDocument, host: Host): Promise<Configuration> {
  const configuration = await examine(document, host);
  const { problems } = configuration.checked;
  const fatal = problems.filter(
    (problem) => problem.severity === "error" && problem.owner === undefined && !(problem.agent !== undefined && comesFromUnset(document, problem)),
  );
  if (fatal.length > 0) {
    const file = document.file ?? "the configuration";
    throw fail("SVC_CONFIG_INVALID", { file, reason: describeProblems(fatal), path: fatal[0]?.path, problems });
  }
  return configuration;
}

/** `12:7 agents.a.maxConcurrent: must be at least 1`. */
export function describeProblem(problem: ConfigProblem): string {
  const place = problem.line === undefined ? "" : `${problem.line}:${problem.column} `;
  return `${place}${problem.path === "" ? "" : `${problem.path}: `}${problem.message}`;
}

/** Problems named in one message; the rest shows when these are fixed. */
const LISTED = 20;

/** One a line, and how many more there are. */
export function describeProblems(problems: readonly ConfigProblem[]): string {
  const lines = problems.slice(0, LISTED).map(describeProblem);
  return [...lines, ...(problems.length > LISTED ? [`... and ${problems.length - LISTED} more`] : [])].join("\n  ");
}

const comesFromUnset = (document: ConfigDocument, { path }: ConfigProblem): boolean =>
  document.references(parsePath(path)).some((name) => document.missing.includes(name));

function sectionAt(value: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, key) => (typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined), value);
}

function wantedOf(
  value: Readonly<Record<string, unknown>>,
  usualTier: string | undefined,
  broken: ReadonlyMap<string, string>,
  section: (path: string) => unknown,
): Wanted {
  const agents = Object.values((value.agents ?? {}) as Record<string, { tier?: string } | null>);
  const tiers = agents.map((agent) => (typeof agent?.tier === "string" ? agent.tier : usualTier));
  const keys = new Set(agents.flatMap((agent) => (typeof agent === "object" && agent !== null ? Object.keys(agent) : [])));
  return { section, tiers: new Set(tiers.filter((tier) => tier !== undefined)), hasAgentKey: (key) => keys.has(key), broken };
}

/** Entries of `plugins`. */
export const entriesOf = (document: ConfigDocument): string[] => {
  const { plugins } = document.expanded as { plugins?: unknown };
  return Array.isArray(plugins) ? plugins.filter((entry): entry is string => typeof entry === "string" && entry !== "") : [];
};

/** Best effort: the daemon runs without it. A configuration with which no agent can run is not worth restoring. */
export async function keepLastGood({ document: { text }, value, unusable }: Configuration, dataFolder: string, log: Log): Promise<void> {
  if (text === undefined || Object.keys(value.agents ?? {}).every((id) => unusable.has(id))) return;
  await rememberLastGood(dataFolder, text).catch((error) => log.warn({ err: error }, "the configuration was not kept as the last good one"));
}

/** Adds the entries of `plugins` that lead to no plugin to those that could not follow a reload: new ones wait for a restart, and that is reported now. */
export function withTroubles(failed: ReloadReport["failed"], { document }: Configuration, host: Host): ReloadReport["failed"] {
  const troubles = host.troubles(entriesOf(document)).map(({ entry, reason }) => ({ plugin: readEntry(entry).name, reason }));
  return [...failed, ...troubles.filter(({ plugin }) => !failed.some((known) => known.plugin === plugin))];
}
