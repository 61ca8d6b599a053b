import type { PluginContext } from "@svc/sdk";
import { ALL, shareWords } from "./caps.ts";
import { Meter, type Standing } from "./meter.ts";
import type { BudgetSettings } from "./settings.ts";
import { Windows } from "./windows.ts";

/** A month of days is kept, for looking back. */
const KEPT_MS = 35 * 86_400_000;

/** Resources of the running plugin. */
export interface Opened {
  readonly meter: Meter;
  /** Counts what was left uncounted: by a daemon that died over a turn, or while the store took nothing. */
  settle(): Promise<void>;
  sweep(): Promise<void>;
  /** The windows of this moment that have a cap or a count. */
  standing(): Promise<readonly Standing[]>;
}

/** Opens the counters of the plugin. */
export function openBudgets(
  ctx: Pick<PluginContext, "agents" | "events" | "jobs" | "log" | "services" | "store" | "traces">,
  settings: () => BudgetSettings,
): Opened {
  const unpriced = new Set<string>();
  const meter = new Meter({
    store: ctx.store,
    windows: new Windows(ctx.jobs),
    settings,
    warn({ agent, amount, measure, cap, setting, window }) {
      const whose = agent === ALL ? "all agents together" : agent;
      const summary = `${whose}: ${shareWords(amount, cap, measure)} in this ${window.period} (${setting})`;
      ctx.log.warn({ agent, setting }, `${summary}; further turns are refused at the cap`);
      ctx.events.publish({
        kind: "status",
        type: "budget:warned",
        ...(agent === ALL ? {} : { agentId: agent }),
        summary,
        data: { agent, measure, amount, cap, setting, period: window.period, until: window.to },
      });
      const key = `budgets:${setting}:${window.from}`;
      ctx.services
        .get("notifier")
        ?.notify({ title: "Budget", text: summary, key })
        .catch((error) => ctx.log.warn({ err: error }, "nobody was told of a budget that runs out"));
    },
    unpriced(model = "an engine that names none") {
      if (unpriced.has(model)) return;
      unpriced.add(model);
      ctx.log.warn({ model }, "nobody knows what this model costs: caps of money do not count it; give its price in budgets.prices");
    },
  });
  return {
    meter,
    async settle() {
      for (const { id, agent } of await meter.open()) {
        const trace = await ctx.traces.get(id);
        // A resumed task is counted when it runs.
        if (trace?.status === "in-flight") continue;
        await meter.count(id, agent, trace?.usage, trace?.model, true);
      }
    },
    sweep: () => meter.sweep(Date.now() - KEPT_MS),
    async standing() {
      const all = await meter.standing(ctx.agents.list().map(({ id }) => id));
      return all.filter(({ caps, turns, tokens, micros }) => caps.length > 0 || turns + tokens + micros > 0);
    },
  };
}
