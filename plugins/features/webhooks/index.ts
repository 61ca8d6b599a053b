import { definePlugin } from "@svc/sdk";
import { DeliveryLog } from "./delivery-log.ts";
import { addForwarding, isPeer } from "./forwarding.ts";
import { addRoutes } from "./routes.ts";
import { checkWebhooks, isVariableName, WEBHOOKS, type WebhookSettings } from "./settings.ts";
import { secretState } from "./target.ts";

const SWEEP_MS = 3_600_000;

/** Incoming webhooks (001:L170-184): a signed POST of another system becomes a message of an agent. */
export default definePlugin<readonly WebhookSettings[]>({
  kind: "feature",
  name: "webhooks",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "webhooks", schema: WEBHOOKS, check: checkWebhooks },
  capabilities: ["agents", "env:*", "jobs", "routes", "services", "store", "tasks", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let entries = ctx.config;
    const env = (name: string) => ctx.env(name);
    const log = new DeliveryLog(ctx);
    addRoutes(ctx, { ctx, log, facts: { entries: () => entries, env, hasAgent: (id) => ctx.agents.get(id) !== undefined } });
    addForwarding(ctx, { entries: () => entries });
    const warn = () => {
      const workflows = ctx.services.get("workflows") !== undefined;
      for (const entry of entries) {
        if (entry.enabled && !workflows && (entry.triggers !== undefined || entry.defaultWorkflow !== undefined))
          ctx.log.warn({ webhook: entry.id }, "no plugin runs workflows: the agent works on what comes in (workflows.enabled)");
        if (entry.enabled && entry.node !== undefined && !isPeer(entry.node, ctx))
          ctx.log.warn(
            { webhook: entry.id, node: entry.node },
            "no running plugin reaches this node: what comes in is refused with 501 (mesh.enabled, mesh.peers)",
          );
        if (!entry.enabled || secretState(entry, env) !== "missing") continue;
        const { id, secretEnv = "" } = entry;
        const variable = isVariableName(secretEnv) ? { variable: secretEnv } : {};
        ctx.log.warn({ webhook: id, ...variable }, "the variable that secretEnv names is not set: this webhook refuses everything until it is");
      }
    };

    return {
      async start() {
        warn();
        ctx.jobs.every(SWEEP_MS, () => log.sweep(Date.now()));
      },
      async reload(next) {
        entries = next;
        warn();
      },
    };
  },
});
