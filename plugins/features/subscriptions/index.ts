import { definePlugin, type HttpRoute, type ObjectSchema, type PluginContext, type Schema, type Subscription, svcError } from "@svc/sdk";
import { digestOf } from "./digest.ts";
import { eventsTool } from "./events-tool.ts";
import { concerns } from "./subscribed.ts";
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

/** `GET /agents/:id/events` (000:L300): what the agent subscribes to, at most 50 events a read, oldest first; `next` is the `since` of the next read, `gap` says that events left the buffer unread. */
const eventsRoute = (ctx: PluginContext): HttpRoute => ({
  method: "GET",
  path: "/agents/:id/events",
  guard: "peer",
  query: { type: "object", properties: { since: { type: "string" }, limit: { type: "integer", minimum: 1 } } },
  handle({ params: { id = "" }, query: { since, limit } }) {
    const agent = ctx.agents.get(id);
    if (agent === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${id}'; see svc agent list.`, { status: 404, agent: id });
    const subscriptions = (agent.settings.subscriptions ?? []) as readonly Subscription[];
    const page = ctx.events.page((envelope) => concerns(subscriptions, envelope), since || undefined, limit === undefined ? undefined : Number(limit));
    return { agentId: id, subscriptions, ...page };
  },
});

export default definePlugin({
  kind: "feature",
  name: "subscriptions",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  capabilities: ["agents", "events", "tasks", "jobs", "routes", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    ctx.provide.tool(eventsTool(ctx));
    ctx.provide.route(eventsRoute(ctx));
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
