import type { ObjectSchema } from "@svc/sdk";
import { choice, flag, text, word, words } from "./shapes.ts";

/** `node`: who this daemon is (001:L16-23). */
export const NODE: ObjectSchema = {
  type: "object",
  description: "identity of this machine",
  required: ["id", "name"],
  properties: {
    id: word("stable machine slug, the node's name on the mesh", { restart: true, format: "line" }),
    name: word("readable name", { restart: true, format: "line" }),
    bind: word("address of the daemon's API, host:port", {
      default: "127.0.0.1:18800",
      format: "address",
      restart: true,
    }),
    hosts: words("names by which browsers and proxies reach this daemon and its dashboard, beside localhost and the address of bind", { default: [] }),
    trustedProxies: words("addresses and networks, such as 127.0.0.1 or 10.0.0.0/8, of proxies whose X-Forwarded-For is believed", { default: [] }),
    localSecret: flag("callers on this machine must prove that they may read the file .svc/local-secret; for machines with several users", {
      default: false,
      restart: true,
    }),
    defaultAgent: word("agent for calls that name none"),
  },
};

/** `providers.<name>` (001:L25-32). `endpoint` is where the engine is called, when that is not the vendor's own address; `api`, what it speaks. */
export const PROVIDERS: ObjectSchema = {
  type: "object",
  description: "model providers by name",
  default: {},
  propertyNames: { minLength: 1 },
  additionalProperties: {
    type: "object",
    properties: {
      apiKey: text("API key for sdk and orchestrator agents, as an environment reference", { secret: true }),
      endpoint: word("address of the API", { format: "url" }),
      api: choice("what the API speaks; by default anthropic for the provider of that name, openai for every other", ["anthropic", "openai"]),
      defaultModel: text("accepted, but not read: set model on the agent"),
      baseUrl: text("accepted, but not read: the address is endpoint"),
      thinking: flag("thinking-mode output where the backend supports it"),
    },
  },
};
