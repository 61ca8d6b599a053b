import type { Agent, ObjectSchema, PermissionMode, Schema } from "@svc/sdk";
import { programSection } from "@svc/sdk/program-tier";

/** Start command and options of a program: the section `tiers.acp`, overridden by `agents.<id>.acp`. */
export interface AcpSettings {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly authMethod?: string;
  readonly modes?: Readonly<Partial<Record<PermissionMode, string>>>;
}

const MODE: Schema = { type: "string", minLength: 1 };
const KEYS: NonNullable<ObjectSchema["properties"]> = {
  args: { type: "array", items: { type: "string" }, description: "the program's arguments, such as `acp` or `--acp`" },
  authMethod: { type: "string", minLength: 1, description: "the way to sign in, by its id in the protocol; unset leaves it to the program" },
  modes: {
    type: "object",
    description: "the program's own mode for a permissionMode, where its name is not a usual one",
    additionalProperties: false,
    properties: { default: MODE, acceptEdits: MODE, plan: MODE, bypassPermissions: MODE },
  },
};

const section = programSection("agent", "", KEYS);
const { command: _, env, ...rest } = section.properties ?? {};
const properties: NonNullable<ObjectSchema["properties"]> = {
  command: { type: "string", minLength: 1, description: "the program: a name to find on PATH or a path" },
  env: { ...env, additionalProperties: { type: "string", masked: true } },
  ...rest,
};

/** The schema of the section `tiers.acp`. */
export const sectionSchema: ObjectSchema = { ...section, description: "The program that speaks the Agent Client Protocol", properties };

/** The key of an agent: the same settings for this agent alone. */
export const agentConfig: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: { acp: { type: "object", description: "the agent's own program, in place of that of tiers.acp", additionalProperties: false, properties } },
};

/** The settings of an agent, and where its program and variables are set. Arguments belong to the command: another command has its own. */
export function acpSettings(common: AcpSettings, { id, settings }: Pick<Agent, "id" | "settings">): AcpSettings & { readonly at: string } {
  const own = (settings.acp ?? {}) as AcpSettings;
  const args = own.args ?? (own.command === undefined ? common.args : undefined);
  return {
    ...common,
    ...own,
    ...(args === undefined ? { args: [] } : { args }),
    env: { ...common.env, ...own.env },
    modes: { ...common.modes, ...own.modes },
    at: own.command === undefined ? "tiers.acp" : `agents.${id}.acp`,
  };
}
