import { definePlugin, type ObjectSchema, type Schema } from "@svc/sdk";
import { digestOf } from "./digest.ts";
import { eventsTool } from "./events-tool.ts";
import { createWaker } from "./waker.ts";

/** Where the list of events stands among the layers: after the landscape, before the identity. */
const PRIORITY = 3.5;

const words = (description: string): Schema => ({ type: "array", items: { type: "string" }, description });

/** `agents.<id>.subscriptions[]` (001:L64). */
const AGENT: ObjectSchema = {
  type: "object",
  properties: {
    subscriptions: {
      type: "array",
      default: [],
      description: "events the agent hears",
      items: {
        type: "object",
        properties: {
          kinds: words("event kinds"),
          agents: words("agent ids"),
          nodes: words("node names"),
          match: { type: "string", description: "words the event must contain" },
          delivery: {
            type: "string",
            enum: ["pull", "digest", "wake"],
            description: "read on demand, listed at the start of a conversation, or starting the agent",
          },
          maxPerHour: { type: "integer", minimum: 0, description: "starts by events in an hour, at most" },
        },
      },
    },
  },
};

export default definePlugin({
  kind: "feature",
  name: "subscriptions",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  capabilities: ["agents", "events", "tasks", "jobs"],
  setup(ctx) {
    ctx.provide.tool(eventsTool(ctx));
    // After the sessions have said whether the conversation is a fresh one.
    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const text = context.session === undefined ? digestOf(ctx, turn.agent) : "";
        return text === "" ? context : { ...context, layers: [...context.layers, { name: "events", priority: PRIORITY, text }] };
      },
      { phase: "layers" },
    );
    const waker = createWaker(ctx);
    return {
      async start() {
        ctx.events.subscribe(waker.hear);
      },
    };
  },
});
