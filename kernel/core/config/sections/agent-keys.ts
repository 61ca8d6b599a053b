import type { ObjectSchema } from "@svc/sdk";
import { choice, count, flag, range, text, word, words } from "../../../base/schema/shapes.ts";

/** Lower-case letters, digits, `_` and `-`: an agent's id is part of URLs, lanes and token scopes. */
export const AGENT_ID = "^[a-z0-9][a-z0-9_-]*$";

/**
 * `agents.<id>` (001:L34-79), as far as the kernel itself reads it; plugins add keys of their own. `tier` is any tier name in form; whether
 * a plugin provides it is checked against the tiers that are known. Its default, and the values of `contextStrategy`, come from the
 * plugins: see `coreSchema`. `contextStrategy` and `drainTimeoutSeconds` have no default: unset means that the wider setting is looked up
 * when it is used (CFG-17).
 */
export const AGENT = {
  type: "object",
  required: ["name", "workspace"],
  properties: {
    name: word("display name", { format: "line" }),
    workspace: word("working folder: instructions, skills, tool-server configuration"),
    tier: word("execution engine", { pattern: "^[a-z][a-z0-9-]*$" }),
    model: word("model id; unset uses the engine's default", { restart: true }),
    systemPrompt: text("extra instructions on every run"),
    mentions: words("handles that route messages to this agent", { default: [] }),
    intents: words("intents the agent may handle; empty means any", { default: [] }),
    maxDelegationDepth: {
      type: "integer",
      minimum: 0,
      maximum: 50,
      default: 5,
      description: "refuse a hand-off when this many other agents already worked on the chain; 0 disables the check",
    },
    contextStrategy: text("in place of session.contextStrategy"),
    maxConcurrent: count("parallel runs", 1, { default: 1 }),
    maxExecutionMinutes: range("minutes a run may take", 1, 240, { default: 20 }),
    preSpawnTimeoutSec: range("seconds the preparation of a run may take", 10, 3600, { default: 300 }),
    drainTimeoutSeconds: range("seconds a stop waits for this agent's tasks, where longer than the global value", 0, 86_400),
    permissionMode: choice("permissions of a run", ["default", "acceptEdits", "plan", "bypassPermissions"], { default: "default" }),
    toolUseRequired: words("at least one of these tools must be used in a run", { default: [] }),
    persistentProcess: flag("a warm process per conversation, for command-line tiers", { default: false }),
    queueMode: choice("what happens to messages that arrive during a turn", ["collect", "followup", "drop"], { default: "collect" }),
    access: choice("public opens the public endpoint to tokens for this agent", ["private", "public"], { default: "private" }),
    admin: flag("may manage schedules created by others"),
  },
} satisfies ObjectSchema;
