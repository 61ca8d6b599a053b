/** A channel that notes in `SVC_TEST_LEDGER` what it sends, and sends nothing while the file `closed` stands beside it. A message comes in by `POST /letterbox`. */
import { appendFileSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";

export default {
  kind: "channel",
  name: "letterbox",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["routes", "tasks"],
  setup(ctx) {
    const ledger = process.env.SVC_TEST_LEDGER;
    const handle = ctx.provide.channel({
      name: "letterbox",
      traits: { maxChars: 1_000, unit: "codepoint", dialect: "plain" },
      async send({ text }) {
        if (existsSync(join(dirname(ledger), "closed"))) throw Object.assign(new Error("it is closed"), { failure: "retry", retryAfterMs: 500 });
        appendFileSync(ledger, `${JSON.stringify({ sent: text })}\n`);
        return { platformId: "1" };
      },
    });
    ctx.provide.route({
      method: "POST",
      path: "/letterbox",
      guard: "peer",
      body: { type: "object", additionalProperties: true },
      handle: async ({ body: { text } }) => ({
        accepted: await ctx.tasks.accept({ entry: "channel", channel: "letterbox", chat: "street", text, agent: "keeper" }),
      }),
    });
    return { start: async () => handle.ready() };
  },
};
