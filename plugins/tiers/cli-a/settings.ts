import type { Agent, ObjectSchema } from "@svc/sdk";

/** The section `tiers.cli-a`. */
export interface Section {
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export const sectionSchema: ObjectSchema = {
  type: "object",
  description: "The Claude Code program",
  additionalProperties: false,
  properties: {
    command: { type: "string", minLength: 1, description: "the program: a name to find on PATH or a path; default `claude`" },
    env: {
      type: "object",
      description: "variables added to the program's environment",
      propertyNames: { pattern: "^[A-Z_][A-Z0-9_]*$" },
      additionalProperties: { type: "string" },
    },
  },
};

export type PermissionMode = "default" | "acceptEdits" | "plan" | "bypassPermissions";

/** What an agent's configuration says to this tier. */
export interface AgentSettings {
  readonly permissionMode: PermissionMode;
  readonly billing: "subscription" | "api";
  readonly persistentProcess: boolean;
  /** Names of the MCP servers that the operator gave the agent: their tools need no further approval. */
  readonly servers: readonly string[];
}

/** Reads the checked settings of an agent. */
export function readAgent({ settings }: Agent): AgentSettings {
  return {
    permissionMode: (settings.permissionMode as PermissionMode | undefined) ?? "default",
    billing: settings.billing === "api" ? "api" : "subscription",
    persistentProcess: settings.persistentProcess === true,
    servers: Object.keys((settings.mcp as Record<string, unknown> | undefined) ?? {}),
  };
}
