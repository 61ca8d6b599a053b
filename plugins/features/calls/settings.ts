import type { ObjectSchema, SectionProblem } from "@svc/sdk";

/** The section `calls`, its defaults filled in. */
export interface CallsSettings {
  readonly allow: readonly string[];
  readonly maxPerHour: number;
  readonly ringSeconds: number;
  readonly maxCallMinutes: number;
  readonly ringSound: string;
  readonly summary: boolean;
}

/** The schema of that section (001:L200). */
export const CALLS: ObjectSchema = {
  type: "object",
  description: "calls and camera sessions",
  additionalProperties: false,
  properties: {
    allow: {
      type: "array",
      items: { type: "string", minLength: 1 },
      uniqueItems: true,
      default: [],
      description: "agents that may ring people and ask for their camera, by id, or *; empty: none may",
    },
    maxPerHour: { type: "integer", minimum: 1, maximum: 60, default: 3, description: "calls and camera asks of all agents together, per hour" },
    ringSeconds: { type: "number", minimum: 10, maximum: 300, default: 45, description: "seconds of ringing" },
    maxCallMinutes: { type: "number", minimum: 1, maximum: 240, default: 30, description: "longest call, minutes" },
    ringSound: { type: "string", minLength: 1, maxLength: 64, pattern: "^[A-Za-z0-9 _-]+$", default: "Submarine", description: "sound of a ring, on macOS" },
    summary: { type: "boolean", default: true, description: "have the agent sum a call up when it has ended" },
  },
};

/** Checks that the schema cannot express: an unknown agent cannot call. */
export function checkCalls({ allow }: CallsSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  return allow.flatMap((id, at) =>
    id === "*" || agents.includes(id) ? [] : [{ path: `allow[${at}]`, message: `there is no agent '${id}'; see svc agent list` }],
  );
}
