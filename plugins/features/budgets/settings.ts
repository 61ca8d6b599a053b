import type { ObjectSchema, Schema, SectionProblem } from "@svc/sdk";

/** Limits of a window, or of one run. */
export interface Caps {
  readonly turns?: number;
  readonly tokens?: number;
  /** US dollars. */
  readonly money?: number;
}

/** US dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheCreate?: number;
}

/** The caps of one agent. */
export interface AgentBudget {
  readonly hour?: Caps;
  readonly day?: Caps;
  readonly run?: Omit<Caps, "turns">;
}

/** The section `budgets` of svc.json. */
export interface BudgetSettings {
  readonly timezone?: string;
  readonly prices?: Readonly<Record<string, Price>>;
  readonly all?: Omit<AgentBudget, "run">;
  readonly eachAgent?: AgentBudget;
  readonly agents?: Readonly<Record<string, AgentBudget>>;
}

const measures = (most: string, turns: boolean): ObjectSchema => ({
  type: "object",
  additionalProperties: false,
  description: most,
  properties: {
    ...(turns ? { turns: { type: "integer", minimum: 1, description: "turns that may begin" } as Schema } : {}),
    tokens: { type: "integer", minimum: 1, description: "tokens, read from a cache or not" },
    money: { type: "number", exclusiveMinimum: 0, description: "US dollars, by prices, else as the engine tells" },
  },
});
const WINDOWS = { hour: measures("in each hour of the clock", true), day: measures("in each day, from midnight on", true) };
const AGENT: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  description: "caps of one agent",
  properties: { ...WINDOWS, run: measures("in one run: a run that passes it is stopped", false) },
};
const dollars = (description: string): Schema => ({ type: "number", minimum: 0, description: `US dollars for a million ${description}` });

/** The schema of the section. */
export const BUDGETS: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  description: "what agents may use in an hour, a day, a run",
  properties: {
    timezone: { type: "string", minLength: 1, format: "timezone", default: "UTC", description: "time zone in which a day begins" },
    prices: {
      type: "object",
      description: "prices by model, or by the beginning of its name with * behind it",
      propertyNames: { minLength: 1, maxLength: 200 },
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        required: ["input", "output"],
        properties: {
          input: dollars("tokens of input"),
          output: dollars("tokens of output"),
          cacheRead: dollars("tokens read from a cache; default as input"),
          cacheCreate: dollars("tokens written to a cache; default as input"),
        },
      },
    },
    all: { type: "object", additionalProperties: false, description: "caps of all agents together", properties: WINDOWS },
    eachAgent: { ...AGENT, description: "caps of every agent by itself, where agents.<id> says nothing else" },
    agents: { type: "object", description: "caps of single agents, by id", additionalProperties: AGENT },
  },
};

/** Checks that the schema cannot express. */
export function checkBudgets(section: BudgetSettings, { agents }: { readonly agents: readonly string[] }): readonly SectionProblem[] {
  const { agents: own = {}, all, eachAgent, prices = {} } = section;
  const money = [all, eachAgent, ...Object.values(own)].some((budget) =>
    [budget?.hour, budget?.day, (budget as AgentBudget)?.run].some((caps) => caps?.money !== undefined),
  );
  return [
    ...Object.keys(own).flatMap((id) =>
      agents.includes(id) ? [] : [{ path: `agents.${id}`, message: "is a budget of no agent: svc.json has none of that id; see svc agent list" }],
    ),
    ...(money && Object.keys(prices).length === 0
      ? [{ path: "prices", message: "is missing: money counts only what engines tell of their cost; give the prices of the models that your agents use" }]
      : []),
  ];
}
