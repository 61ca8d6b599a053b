import type { AgentTool, PluginContext, Subscription } from "@svc/sdk";
import { concerns, lineOf } from "./subscribed.ts";

/** `svc_events`: an agent reads the events it subscribed to, whatever their delivery; `next` is the `since` of the next call. */
export function eventsTool(ctx: PluginContext): AgentTool {
  return {
    name: "svc_events",
    description: "Read the daemon's events this agent subscribed to, oldest first, at most 50. Pass the `next` of one answer as `since` of the following call.",
    input: { type: "object", additionalProperties: false, properties: { since: { type: "string", description: "An event id from an earlier answer." } } },
    async run(input, { agent }) {
      const found = ctx.agents.get(agent);
      const subscriptions = (found?.settings.subscriptions ?? []) as readonly Subscription[];
      const since = typeof input.since === "string" && input.since !== "" ? input.since : undefined;
      const { events, ...place } = ctx.events.page((envelope) => concerns(subscriptions, envelope), since);
      return JSON.stringify({ events: events.map((envelope) => ({ id: envelope.id, text: lineOf(envelope) })), ...place });
    },
  };
}
