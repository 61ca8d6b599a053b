import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

/** The section `procedures`, its defaults filled in. */
export interface ProcedureSettings {
  readonly enabled: boolean;
  readonly dir: string;
  readonly extraction: {
    readonly enabled: boolean;
    readonly onTaskCompletion: boolean;
    readonly minOccurrences: number;
    readonly sinceDays: number;
    readonly maxClusters: number;
    readonly via?: string;
  };
  readonly injection: { readonly enabled: boolean; readonly maxProcedures: number; readonly minScore: number };
  readonly skills: { readonly workspace: readonly string[]; readonly user: readonly string[] };
}

const flag = (description: string, standard: boolean): Schema => ({ type: "boolean", default: standard, description });
const count = (description: string, minimum: number, standard: number): Schema => ({ type: "integer", minimum, default: standard, description });
const part = (description: string, properties: Record<string, Schema>): Schema => ({
  type: "object",
  default: {},
  additionalProperties: false,
  description,
  properties,
});
const folders = (description: string, standard: readonly string[]): Schema => ({
  type: "array",
  maxItems: 20,
  items: { type: "string", minLength: 1 },
  default: standard,
  description,
});

/** The schema of that section (001:L192). */
export const PROCEDURES: ObjectSchema = {
  type: "object",
  description: "learned procedures",
  additionalProperties: false,
  properties: {
    enabled: flag("switch", true),
    dir: { type: "string", minLength: 1, default: ".svc/procedures", description: "folder of the procedures and of their drafts" },
    extraction: part("extraction of procedures", {
      enabled: flag("switch", false),
      onTaskCompletion: flag("extract after each task, not only once a day", false),
      minOccurrences: count("runs of distinct requests that it takes", 2, 3),
      sinceDays: count("days looked back", 1, 7),
      maxClusters: count("drafts per pass", 1, 5),
      via: { type: "string", minLength: 1, description: "agent that writes the drafts; unset: the small model" },
    }),
    injection: part("injection of procedures into turns", {
      enabled: flag("switch", true),
      maxProcedures: count("procedures per turn", 1, 2),
      minScore: { type: "number", minimum: 0, maximum: 1, default: 0.5, description: "lowest score" },
    }),
    skills: part("folders of skills (SKILL.md) that are read besides", {
      workspace: folders("below each agent's workspace", [".agents/skills", ".claude/skills"]),
      user: folders("of this machine, for all agents; ~ is the home folder. None unless named: their words are other people's", []),
    }),
  },
};

/** Checks that the schema cannot express: a missing agent for drafts. */
export function checkProcedures({ extraction: { via } }: ProcedureSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  if (via === undefined || agents.includes(via)) return [];
  return [{ path: "extraction.via", message: `names the agent '${via}', which is not in agents; name one that is there`, severity: "error" }];
}
