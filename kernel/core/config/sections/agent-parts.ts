import type { ObjectSchema, Schema } from "@svc/sdk";
import { choice, count, flag, text, word, words } from "./shapes.ts";

const STRINGS: Schema = { type: "object", additionalProperties: { type: "string" } };
const MASKED: Schema = { type: "object", additionalProperties: { type: "string", masked: true } };

/** `agents.<id>.mcp.<name>` (001:L47, L73). That `command` or `url` is there is a rule across fields: see `core-rules.ts`. */
export const MCP_SERVER: ObjectSchema = {
  type: "object",
  properties: {
    type: choice("transport", ["stdio", "http"], { default: "stdio" }),
    command: word("program to start, for stdio"),
    args: words("program arguments"),
    env: { ...MASKED, description: "environment of the program" },
    url: word("server address, for http", { format: "url" }),
    headers: { ...MASKED, description: "request headers" },
  },
};

/** `agents.<id>.subscriptions[]` (001:L64). */
export const SUBSCRIPTION: ObjectSchema = {
  type: "object",
  properties: {
    kinds: words("event kinds"),
    agents: words("agent ids"),
    nodes: words("node names"),
    match: text("words the event must contain"),
    delivery: choice("read on demand, listed at the start of a conversation, or starting the agent", ["pull", "digest", "wake"]),
    maxPerHour: count("starts by events in an hour, at most", 0),
  },
};

/** `agents.<id>.heartbeat` (001:L65-68). */
export const HEARTBEAT: ObjectSchema = {
  type: "object",
  description: "periodic check-in inside the session",
  default: {},
  properties: {
    enabled: flag("switch", { default: false }),
    intervalMinutes: { type: "number", minimum: 1, default: 30, description: "minutes between check-ins" },
    prompt: word("check-in prompt", {
      default: "Check in: look at your inbox, your pending tasks and the health of the system. Say what needs attention, or that nothing does.",
    }),
    channel: word("virtual channel tag", { default: "heartbeat" }),
  },
};

const variableName = (what: string): Schema => ({
  type: "string",
  pattern: "^[A-Z_][A-Z0-9_]*$",
  description: `upper-case name of the environment variable with the ${what}`,
});

/** `agents.<id>.integrations[]` (001:L75). The six `*Env` keys name variables; they never hold the secret itself (CFG-16). */
export const INTEGRATION: ObjectSchema = {
  type: "object",
  required: ["kind", "label"],
  properties: {
    kind: word("integration kind"),
    label: word("label, unique per agent and kind"),
    credentials: {
      type: "object",
      properties: {
        tokenEnv: variableName("token"),
        privateAppTokenEnv: variableName("private app token"),
        apiKeyEnv: variableName("API key"),
        refreshTokenEnv: variableName("refresh token"),
        clientIdEnv: variableName("client id"),
        clientSecretEnv: variableName("client secret"),
        auth: choice("sign-in kept by the system", ["keyring"]),
        sessionDir: word("session folder"),
      },
    },
    metadata: { type: "object", additionalProperties: { type: ["string", "number", "boolean"] }, description: "facts that are no secrets" },
    enabled: flag("switch", { default: true }),
  },
};

/** `agents.<id>.voice` (001:L77). */
export const VOICE: ObjectSchema = {
  type: "object",
  description: "voice, in place of the global voice settings",
  properties: {
    provider: choice("speech provider", ["system", "cloud"]),
    system: {
      anyOf: [{ type: "string", minLength: 1 }, STRINGS],
      description: "voice of the operating system, the word system, or a map from language to voice",
    },
    fallbacks: words("fallback voices"),
    cloudVoiceId: word("voice at the cloud provider"),
    gender: choice("voice gender", ["female", "male", "neutral"]),
    style: text("speaking style"),
    intro: text("spoken introduction"),
    narrate: choice("what is spoken; on is all but scheduled jobs", ["off", "on", "all"]),
  },
};

/** `agents.<id>.presence` (001:L79). */
export const PRESENCE: ObjectSchema = {
  type: "object",
  description: "on-screen presence",
  properties: {
    color: { type: "string", pattern: "^#[0-9A-Fa-f]{6}$", description: "colour as #RRGGBB" },
    initial: text("up to two letters", { maxLength: 2 }),
    label: text("label"),
    allowActions: flag("permit to act; without it, act falls back to teach"),
  },
};
