import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

/** The section `graph`, its defaults filled in. */
export interface GraphSettings {
  readonly enabled: boolean;
  readonly baseDir: string;
  readonly draftAgent?: string;
  readonly reviewAgent?: string;
  readonly autoApproveStructure: "strict" | "extend-leaves" | "any";
  readonly autoApproveConfidence: number;
  readonly retrievalWeights: { readonly graph: number; readonly bm25: number };
}

const agent = (description: string): Schema => ({ type: "string", minLength: 1, description });
const weight = (description: string, standard: number): Schema => ({ type: "number", minimum: 0, maximum: 100, default: standard, description });

/** The schema of that section (001:L248). */
export const GRAPH: ObjectSchema = {
  type: "object",
  description: "intent knowledge graph",
  additionalProperties: false,
  properties: {
    enabled: { type: "boolean", default: false, description: "switch; also turns the intent layer on" },
    baseDir: { type: "string", minLength: 1, default: ".svc/graph", description: "folder of the nodes and of the drafts" },
    draftAgent: agent("agent that drafts changes"),
    reviewAgent: agent("agent that judges drafts which no rule approves; unset: a person does"),
    autoApproveStructure: {
      type: "string",
      enum: ["strict", "extend-leaves", "any"],
      default: "extend-leaves",
      description: "changes approved without review: none, a new leaf, any",
    },
    autoApproveConfidence: {
      type: "number",
      minimum: 0,
      maximum: 1,
      default: 1,
      description: "confidence from which a change is approved without review, whatever its structure",
    },
    retrievalWeights: {
      type: "object",
      default: {},
      additionalProperties: false,
      description: "what counts for a request",
      properties: { graph: weight("nodes around those that fit", 0.6), bm25: weight("the words of a node", 0.4) },
    },
  },
};

/** Checks that the schema cannot express: missing agents. */
export function checkGraph(section: GraphSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  return (["draftAgent", "reviewAgent"] as const).flatMap((key): SectionProblem[] => {
    const named = section[key];
    if (named === undefined || agents.includes(named)) return [];
    return [{ path: key, message: `names the agent '${named}', which is not in agents; name one that is there`, severity: "error" }];
  });
}
