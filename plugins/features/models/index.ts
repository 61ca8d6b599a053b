import { definePlugin, type Lifecycle } from "@svc/sdk";
import type { OwnModels } from "./models.ts";
import type { Providers } from "./provider-address.ts";

/** Serves `ctx.models`: the only plugin that knows vendors of models, their addresses and the operator's keys. */
export default definePlugin<Providers>({
  kind: "feature",
  name: "models",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "providers" },
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
