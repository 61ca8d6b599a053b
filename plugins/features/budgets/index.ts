import { definePlugin } from "@svc/sdk";
import type { Opened } from "./opened.ts";
import { provideViews } from "./routes.ts";
import { BUDGETS, type BudgetSettings, checkBudgets } from "./settings.ts";

/** After all that may take a turn over or refuse it: those start no engine here. */
const LAST = 1_100;
const HOUR_MS = 3_600_000;

/** Caps of turns, tokens and money in an hour, a day and a run, of each agent and of all together. */
export default definePlugin<BudgetSettings>({
  kind: "feature",
  name: "budgets",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "budgets", schema: BUDGETS, check: checkBudgets },
  capabilities: ["agents", "events", "jobs", "routes", "services", "store", "tasks", "traces"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let settings = ctx.config;
    let opened: Promise<Opened> | undefined;
    const open = (): Promise<Opened> => {
      opened ??= import("./opened.js").then(({ openBudgets }) => openBudgets(ctx, () => settings));
      return opened;
    };
    ctx.hooks.dispatch.tap(
      async (turn) => {
        // An agent of another node is counted where it runs.
        if (turn.route.node !== undefined) return undefined;
        const [{ admit }, { meter }] = await Promise.all([import("./watch.js"), open()]);
        return admit(turn, { ctx, meter, settings: () => settings });
      },
      // While nothing can be counted nothing is started.
      { stage: LAST, step: "budget", required: true },
    );
    provideViews(ctx, async () => (await open()).standing());
    return {
      async start() {
        if ((await ctx.store.collection("turns", { indexes: ["at", "open"] }).count({ where: { open: 1 } })) > 0) await (await open()).settle();
        ctx.jobs.every(HOUR_MS, async () => {
          const { settle, sweep } = await open();
          await settle();
          await sweep();
        });
      },
      async reload(next) {
        settings = next;
      },
    };
  },
});
