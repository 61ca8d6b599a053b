import { definePlugin } from "@svc/sdk";
import { digestOf } from "./digest.ts";
import { eventsTool } from "./events-tool.ts";
import { createWaker } from "./waker.ts";

/** Where the list of events stands among the layers: after the landscape, before the identity. */
const PRIORITY = 3.5;

export default definePlugin({
  kind: "feature",
  name: "subscriptions",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "events", "tasks", "jobs"],
  setup(ctx) {
    ctx.provide.tool(eventsTool(ctx));
    // After the sessions have said whether the conversation is a fresh one.
    ctx.hooks.assembleContext.tap(
      (context, turn) => {
        const text = context.session === undefined ? digestOf(ctx, turn.agent) : "";
        return text === "" ? context : { ...context, layers: [...context.layers, { name: "events", priority: PRIORITY, text }] };
      },
      { stage: 50 },
    );
    const waker = createWaker(ctx);
    return {
      async start() {
        ctx.events.subscribe(waker.hear);
      },
    };
  },
});
