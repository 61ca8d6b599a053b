import type { PluginContext, TierEvent, Turn, Usage } from "@svc/sdk";
import { amountOf, amountWords, capsOf, priceOf, spentOf } from "./caps.ts";
import type { Meter } from "./meter.ts";
import type { BudgetSettings } from "./settings.ts";

/** Dependencies of watching a turn. */
export interface WatchDeps {
  readonly ctx: Pick<PluginContext, "log" | "signal" | "tasks">;
  readonly meter: Meter;
  settings(): BudgetSettings;
}

/** Lets a turn in and counts what it uses as its engine tells it, or answers the refusal. A run that passes its own cap is stopped. */
export async function admit(turn: Turn, { ctx, meter, settings }: WatchDeps): Promise<AsyncGenerator<TierEvent> | undefined> {
  const { id, agent, startedAt } = turn;
  const refusal = await meter.begin(id, agent.id, startedAt);
  if (refusal !== undefined) return refused(refusal);
  const failed = (error: unknown) => ctx.log.error({ err: error, task: id }, "what a turn has used was not counted; it is within an hour");
  let stopped = false;
  const heard = (usage: Usage, model = agent.model) => {
    meter.count(id, agent.id, usage, model, false).catch(failed);
    const used = { turns: 1, ...spentOf(usage, priceOf(settings().prices, model)) };
    const passed = capsOf(settings(), agent.id, "run").find(({ measure, cap }) => amountOf(used, measure) > cap);
    if (passed === undefined || stopped) return;
    stopped = true;
    const { measure, cap, setting } = passed;
    const reason = `the run has used ${amountWords(amountOf(used, measure), measure)}, more than ${amountWords(cap, measure)} (${setting})`;
    ctx.log.warn({ task: id, agent: agent.id, setting }, `a run is stopped: ${reason}`);
    void ctx.tasks.cancel(id, reason);
  };
  // Its end is heard below, where it is stored.
  ctx.tasks.result(id, ctx.signal, (event) => event.type === "usage" && heard(event.usage, event.model)).catch(() => undefined);
  void turn.ended.then(({ result, replaced }) => {
    if (!replaced) meter.count(id, agent.id, result.usage, result.model ?? agent.model, true).catch(failed);
  });
  return undefined;
}

async function* refused(message: string): AsyncGenerator<TierEvent> {
  yield { type: "error", kind: "budget", message };
}
