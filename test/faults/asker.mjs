/**
 * Asks people, as a plugin would: what was decided is carried out once, by a row that is there or not. Each decision that is handed over is
 * noted in `SVC_TEST_LEDGER`, which no transaction takes back.
 */
import { appendFileSync } from "node:fs";
import { put } from "@svc/sdk";

export default {
  kind: "feature",
  name: "asker",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["services", "store", "routes", "env:SVC_TEST_LEDGER"],
  setup(ctx) {
    const effects = ctx.store.collection("effects");
    const approvals = () => ctx.services.get("approvals");
    ctx.provide.route({
      method: "POST",
      path: "/asker/ask",
      guard: "loopback",
      body: { type: "object" },
      async handle({ body: { action } }) {
        const digest = await approvals().digest({ action });
        return approvals().ask({ kind: "act", title: `Do ${action}`, digest, requestedBy: "plugin asker", key: action });
      },
    });
    ctx.provide.route({
      method: "GET",
      path: "/asker/effects",
      guard: "loopback",
      handle: async () => ({ effects: (await effects.list({ limit: 1000 })).map(({ key, value }) => ({ ...value, id: key })) }),
    });
    return {
      async start() {
        approvals().onDecided("act", async (decision) => {
          appendFileSync(ctx.env("SVC_TEST_LEDGER"), `${JSON.stringify(decision)}\n`);
          try {
            await ctx.store.commit([put("effects", decision.id, { state: decision.state, by: decision.by, surface: decision.surface }, "absent")]);
          } catch (error) {
            if (error.code !== "SVC_STORE_CONFLICT") throw error;
          }
        });
      },
    };
  },
};
