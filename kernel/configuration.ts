import type { CheckedConfig, ComposedSchema, ConfigDocument, ConfigProblem } from "./config/index.ts";
import { checkDocument, composeSchema } from "./config/index.ts";
import { fail } from "./errors.ts";
import type { Host, Wanted } from "./host/host.ts";

/** A configuration that was read, checked and may run. */
export interface Configuration {
  readonly document: ConfigDocument;
  readonly composed: ComposedSchema;
  readonly checked: CheckedConfig;
  /** Expanded, defaults filled in, frozen. */
  readonly value: Record<string, unknown>;
  readonly wanted: Wanted;
}

export type ConfigSource = { readonly file: string } | { readonly value: object };

/**
 * Import the plugins it asks for, compose the schema from theirs and the core's, and check it. What is wrong in
 * a plugin's section is that plugin's trouble alone; what is wrong in the core throws `SVC_CONFIG_INVALID` with all `problems`.
 */
export async function readConfiguration(document: ConfigDocument, host: Host): Promise<Configuration> {
  const expanded = document.expanded as Record<string, unknown>;
  await host.load(wantedOf(expanded, []));
  const composed = composeSchema({ sections: host.sections(), agentKeys: host.agentKeys(), tiers: host.tierNames() });
  const checked = checkDocument(document, composed);
  const fatal = checked.problems.filter((problem) => problem.severity === "error" && problem.owner === undefined);
  if (fatal.length > 0)
    throw fail("SVC_CONFIG_INVALID", {
      file: document.file ?? "the configuration",
      reason: fatal.map(describeProblem).join("\n  "),
      problems: checked.problems,
    });
  const value = checked.value as Record<string, unknown>;
  return { document, composed, checked, value, wanted: wantedOf(value, checked.problems) };
}

/** `svc.json:12:7 agents.a.maxConcurrent: must be at least 1`. */
export function describeProblem(problem: ConfigProblem): string {
  const place = problem.line === undefined ? "" : `${problem.line}:${problem.column} `;
  return `${place}${problem.path === "" ? "" : `${problem.path}: `}${problem.message}`;
}

function wantedOf(value: Record<string, unknown>, problems: readonly ConfigProblem[]): Wanted {
  const agents = Object.values((value.agents ?? {}) as Record<string, { tier?: string } | null>);
  const broken = new Map<string, string>();
  for (const problem of problems) {
    if (problem.severity !== "error" || problem.owner === undefined) continue;
    const before = broken.get(problem.owner);
    broken.set(problem.owner, before === undefined ? describeProblem(problem) : `${before}; ${describeProblem(problem)}`);
  }
  return {
    section: (path) =>
      path
        .split(".")
        .reduce<unknown>(
          (at, key) => (typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Record<string, unknown>)[key] : undefined),
          value,
        ),
    tiers: new Set(agents.map((agent) => (typeof agent?.tier === "string" ? agent.tier : "cli-a"))),
    broken,
  };
}
