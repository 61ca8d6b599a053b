import type { AgentTool, PluginContext, Subscription } from "@svc/sdk";
import { concerns, lineOf } from "./subscribed.ts";

const AT_ONCE = 50;

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
      const { events, gap } = ctx.events.recent(since);
      const mine = events.filter((envelope) => concerns(subscriptions, envelope));
      const page = since === undefined ? mine.slice(-AT_ONCE) : mine.slice(0, AT_ONCE);
      return JSON.stringify({
        events: page.map((envelope) => ({ id: envelope.id, text: lineOf(envelope) })),
        next: page.at(-1)?.id ?? since ?? null,
        ...(gap ? { gap } : {}),
      });
    },
  };
}
