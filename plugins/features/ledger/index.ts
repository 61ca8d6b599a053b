import { definePlugin } from "@svc/sdk";
import type { Entries } from "./entries.ts";
import { provideLedgerPanel } from "./ledger-panel.ts";
import { MODE_VARIABLE, modeOf } from "./mode.ts";
import { routesOf } from "./routes.ts";
import { matterOf } from "./topic-of.ts";

/** Before plugins that choose an agent by the message's words, behind the gate of project managers. */
const EARLY = -900;
const DAY_MS = 86_400_000;
/** Days without work after which an entry is deleted. */
const KEPT_DAYS = 180;

/** Owners of the subjects of a project (001:L252): recorded, and in the mode `authoritative` enforced. */
export default definePlugin({
  kind: "feature",
  name: "ledger",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "business" },
  capabilities: ["agents", `env:${MODE_VARIABLE}`, "jobs", "routes", "services", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const value = ctx.env(MODE_VARIABLE);
    const mode = modeOf(value) ?? "off";
    if (modeOf(value) === undefined) ctx.log.warn({ value }, `${MODE_VARIABLE} is none of off, shadow, authoritative: the ledger is off`);
    let opened: Promise<Entries> | undefined;
    const open = (): Promise<Entries> => {
      opened ??= import("./entries.js").then(({ Entries }) => new Entries(ctx.store));
      return opened;
    };
    const routes = routesOf({ mode, agents: ctx.agents, entries: open });
    for (const route of routes) ctx.provide.route(route);
    provideLedgerPanel(ctx, routes);
    if (mode === "off") return { async reload() {} };
    const about = (message: Parameters<typeof matterOf>[0]) => matterOf(message, ctx.services.get("people"));

    if (mode === "shadow")
      ctx.hooks.dispatch.tap((turn) => {
        const matter = turn.route.node === undefined ? about(turn.messages[0]) : undefined;
        if (matter === undefined) return undefined;
        const work = { ...matter, agent: turn.agent.id, root: turn.rootId, task: turn.id };
        // The turn does not wait for it, and nothing of it can fail: the mode may not change what happens.
        void open()
          .then((entries) => entries.observe(work))
          .catch((error) => ctx.log.warn({ err: error, task: turn.id }, "the ledger has not noted a turn"));
        return undefined;
      });
    else {
      const deps = async () => ({ entries: await open(), agents: ctx.agents, matterOf: about });
      ctx.hooks.route.tap(async (message) => (about(message) === undefined ? undefined : (await import("./authority.js")).routeOf(message, await deps())), {
        stage: EARLY,
        required: true,
      });
      ctx.hooks.dispatch.tap(
        async (turn) =>
          // An agent of another node is entered where it lives.
          turn.route.node !== undefined || about(turn.messages[0]) === undefined ? undefined : (await import("./authority.js")).refusalOf(turn, await deps()),
        { stage: EARLY, required: true, step: "ledger" },
      );
    }
    return {
      async start() {
        ctx.jobs.every(DAY_MS, async () => {
          await (await open()).sweep(Date.now() - KEPT_DAYS * DAY_MS);
        });
      },
      // What of the section counts is read by others.
      async reload() {},
    };
  },
});
