import type { ObjectSchema } from "@svc/sdk";
import { expect } from "vitest";
import { type CheckedConfig, type ConfigProblem, checkDocument } from "../../kernel/core/config/check.ts";
import { composeSchema, type Parts } from "../../kernel/core/config/compose.ts";
import { openDocument } from "../../kernel/core/config/document.ts";
import { CONTRACT_PARTS } from "../kit/configuration.ts";

export const NODE = { id: "n1", name: "Node" };
export const AGENT = { name: "A", workspace: "./a" };
export const TIERS = ["cli-a", "local"];

export const compose = (parts: Partial<Parts> = {}) =>
  composeSchema({
    tiers: TIERS,
    defaultTier: "cli-a",
    strategies: ["layered", "planner"],
    defaultStrategy: "layered",
    ...parts,
    sections: [...CONTRACT_PARTS.sections, ...(parts.sections ?? [])],
    agentKeys: [...CONTRACT_PARTS.agentKeys, ...(parts.agentKeys ?? [])],
  });
export const check = (value: object, parts: Partial<Parts> = {}, env: NodeJS.ProcessEnv = {}): CheckedConfig =>
  checkDocument(openDocument({ value: { node: NODE, ...value } }, env), compose(parts));
export const agent = (keys: object, parts: Partial<Parts> = {}, env: NodeJS.ProcessEnv = {}) => check({ agents: { a: { ...AGENT, ...keys } } }, parts, env);
export const errors = (checked: CheckedConfig) => checked.problems.filter(({ severity }) => severity === "error");
export const only = (checked: CheckedConfig): ConfigProblem => {
  expect(checked.problems).toHaveLength(1);
  return checked.problems[0] as ConfigProblem;
};

export const DASHBOARD: ObjectSchema = {
  type: "object",
  properties: {
    enabled: { type: "boolean", default: false },
    port: { type: "integer", minimum: 1, maximum: 65_535, default: 4202 },
    token: { type: "string", secret: true },
    daemons: { type: "array", items: { type: "object", required: ["url"], properties: { url: { type: "string" }, token: { type: "string", secret: true } } } },
  },
};
export const dashboard = { at: "dashboard", schema: DASHBOARD, owner: "feature-dashboard" };
export const botmsg = {
  at: "channels.botmsg",
  owner: "channel-botmsg",
  schema: {
    type: "object",
    properties: {
      enabled: { type: "boolean", default: false },
      accounts: {
        type: "object",
        additionalProperties: { type: "object", required: ["token"], properties: { token: { type: "string", minLength: 1, secret: true } } },
      },
    },
  } satisfies ObjectSchema,
};
