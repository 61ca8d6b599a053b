import type { Agent } from "./agents.ts";
import type { Callables } from "./callables.ts";
import type { ObjectSchema } from "./config.ts";

/** The keys that the section of every tier on a program has. */
export interface ProgramSection {
  readonly command?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The schema of such a section; `more` are the properties that only this tier has. */
export const programSection = (product: string, command: string, more: NonNullable<ObjectSchema["properties"]> = {}): ObjectSchema => ({
  type: "object",
  description: `The ${product} program`,
  additionalProperties: false,
  properties: {
    command: { type: "string", minLength: 1, description: `the program: a name to find on PATH or a path; default \`${command}\`` },
    env: {
      type: "object",
      description: "variables added to the program's environment",
      propertyNames: { pattern: "^[A-Z_][A-Z0-9_]*$" },
      additionalProperties: { type: "string" },
    },
    ...more,
  },
});

/** Values of `agents.<id>.permissionMode`: the operations that an engine may carry out without asking. */
export const PERMISSION_MODES = ["default", "acceptEdits", "plan", "bypassPermissions"] as const;

/** Permission mode of an engine: the operations that it may carry out without asking. */
export type PermissionMode = (typeof PERMISSION_MODES)[number];

/** Settings of an agent for a tier on a program. */
export interface ProgramSettings {
  readonly permissionMode: PermissionMode;
  readonly billing: "subscription" | "api";
  readonly persistentProcess: boolean;
  /** Names of the tool servers that the operator gave the agent: their tools need no further approval. */
  readonly servers: readonly string[];
  /** The entries of those servers, unchanged from the configuration. */
  readonly serverEntries: Readonly<Record<string, unknown>>;
}

/** Reads the checked settings of an agent; an unset one takes the safer value. */
export function programSettings({ settings }: Pick<Agent, "settings">): ProgramSettings {
  const serverEntries = (settings.mcp as Record<string, unknown> | undefined) ?? {};
  return {
    permissionMode: (settings.permissionMode as PermissionMode | undefined) ?? "default",
    billing: settings.billing === "api" ? "api" : "subscription",
    persistentProcess: settings.persistentProcess === true,
    servers: Object.keys(serverEntries),
    serverEntries,
  };
}

/** Whether an entry of a tool server is this service's own, `svc mcp --agent <id>`, however svc is started. */
export function isOwnServer(entry: unknown): boolean {
  const { command, args } = (typeof entry === "object" && entry !== null ? entry : {}) as { readonly command?: unknown; readonly args?: unknown };
  const words = [command, ...(Array.isArray(args) ? args : [])].map((word) =>
    String(word)
      .replace(/^.*[/\\]/, "")
      .replace(/\.(?:[cm]js|cmd)$/, ""),
  );
  return words.some((word, at) => word === "svc" && words[at + 1] === "mcp");
}

/** Patterns of the actions that the agent can call from within its program: `Tier.actions`. Empty without this service's tools server among its own. */
export function actionsThrough(callables: Callables | undefined, agent: Agent): readonly string[] {
  return Object.values(programSettings(agent).serverEntries).some(isOwnServer) ? (callables?.patterns(agent) ?? []) : [];
}
