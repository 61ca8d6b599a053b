import { definePlugin, type Lifecycle, type ObjectSchema, type SectionProblem } from "@svc/sdk";
import type { OwnModels } from "./models.ts";
import type { Providers } from "./provider-address.ts";

/** `providers.<name>` (001:L25-32). `endpoint` is where the model is called, when that is not the vendor's own address; `api`, what it speaks. */
const SECTION: ObjectSchema = {
  type: "object",
  description: "model providers by name",
  propertyNames: { minLength: 1 },
  additionalProperties: {
    type: "object",
    properties: {
      apiKey: { type: "string", description: "API key for sdk and orchestrator agents, as an environment reference", secret: true },
      endpoint: { type: "string", minLength: 1, description: "address of the API", format: "url" },
      api: {
        type: "string",
        enum: ["anthropic", "openai"],
        description: "what the API speaks; by default anthropic for the provider of that name, openai for every other",
      },
      defaultModel: { type: "string", description: "accepted, but not read: set model on the agent" },
      baseUrl: { type: "string", description: "accepted, but not read: the address is endpoint" },
      thinking: { type: "boolean", description: "thinking-mode output where the backend supports it" },
    },
  },
};

/** Keys that are accepted for the sake of older files and have no effect (CFG-13), each with the one that has. */
const UNREAD = {
  baseUrl: "is not read; the address of a provider is its key endpoint",
  defaultModel: "is not read; set model on the agents that use the provider",
} as const;

const unreadKeys = (providers: Providers): readonly SectionProblem[] =>
  Object.entries(providers).flatMap(([name, entry]) =>
    Object.entries(UNREAD).flatMap(([key, message]) => (Object.hasOwn(entry, key) ? [{ path: `[${JSON.stringify(name)}].${key}`, message }] : [])),
  );

/** An agent must not name a provider that the section does not have. */
function unknownProvider({ provider }: Readonly<Record<string, unknown>>, providers: Providers = {}): readonly SectionProblem[] {
  if (typeof provider !== "string" || provider === "" || Object.hasOwn(providers, provider)) return [];
  const known = Object.keys(providers).sort();
  const there = known.length === 0 ? "" : `; there ${known.length === 1 ? "is" : "are"} ${known.join(", ")}`;
  return [{ path: "provider", message: `names the provider '${provider}', which providers does not have${there}`, severity: "error" }];
}

/** Serves `ctx.models`: the only plugin that knows vendors of models, their addresses and the operator's keys. */
export default definePlugin<Providers>({
  kind: "feature",
  name: "models",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "providers", schema: SECTION, check: unreadKeys },
  agentConfig: {
    type: "object",
    properties: { provider: { type: "string", minLength: 1, description: "entry of providers, for sdk and orchestrator agents" } },
  },
  checkAgent: unknownProvider,
  serves: ["models"],
  capabilities: [
    "agents",
    "fetch",
    "network",
    "env:ANTHROPIC_API_KEY",
    "env:ANTHROPIC_BASE_URL",
    "env:OPENAI_API_KEY",
    "env:OPENAI_BASE_URL",
    "env:SVC_EXTRACT_MODEL",
  ],
  setup(ctx): Lifecycle<Providers> {
    let providers = ctx.config;
    let made: Promise<OwnModels> | undefined;
    // Most starts call no model.
    const models = () => {
      made ??= import("./models.js").then(({ createModels }) =>
        createModels({ providers: () => providers, agent: (id) => ctx.agents.get(id), env: (name) => ctx.env(name), fetch: ctx.fetch }),
      );
      return made;
    };
    ctx.provide.service("models", {
      extract: async (request) => (await models()).extract(request),
      async *stream(call) {
        yield* (await models()).stream(call);
      },
      usable: async (agent) => (await models()).usable(agent),
    });
    return {
      async stop() {
        (await made)?.close();
      },
      async reload(next) {
        providers = next;
      },
    };
  },
});
