import type { Agent, ObjectSchema } from "@svc/sdk";

/** The section `tiers.cli-a`. */
export interface Section {
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly guard?: GuardSection;
}

/** The section `tiers.cli-a.guard`: how runs of restricted autonomy are held. None of it makes such a run free. */
export interface GuardSection {
  readonly wall?: "auto" | "require" | "off";
  readonly folders?: readonly string[];
  readonly servers?: readonly string[];
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
    guard: {
      type: "object",
      description: "how runs of autonomy report and propose are held",
      additionalProperties: false,
      properties: {
        wall: {
          enum: ["auto", "require", "off"],
          description:
            "auto: behind bubblewrap where it is shown to hold, else with fewer rights; require: fail such runs without it; off: never; default auto",
        },
        folders: {
          type: "array",
          items: { type: "string", pattern: "^/" },
          description: "folders beside the workspace that such runs may read, as absolute paths: a common repository, tool chains",
        },
        servers: {
          type: "array",
          items: { type: "string", minLength: 1 },
          description: "names of the agent's tool servers that a run of autonomy propose gets",
        },
      },
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
  /** Those servers as the operator wrote them. */
  readonly serverEntries: Readonly<Record<string, unknown>>;
}

/** Reads the checked settings of an agent. */
export function readAgent({ settings }: Agent): AgentSettings {
  return {
    permissionMode: (settings.permissionMode as PermissionMode | undefined) ?? "default",
    billing: settings.billing === "api" ? "api" : "subscription",
    persistentProcess: settings.persistentProcess === true,
    servers: Object.keys((settings.mcp as Record<string, unknown> | undefined) ?? {}),
    serverEntries: (settings.mcp as Record<string, unknown> | undefined) ?? {},
  };
}
