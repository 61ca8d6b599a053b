import { definePlugin, type Lifecycle, type Turn, type TurnContext } from "@svc/sdk";
import type { PlannerSettings } from "./settings.ts";

/** The decision and what it asks for together; then the turn is built without them. */
const LIMIT_MS = 20_000;

/**
 * The strategy `planner` (000:L36): a small model decides what of the past a turn needs, and only that is told. When it does not
 * decide, for whatever reason, the turn is left to `layered` (CTX-07). No planned turn resumes a session: `sessions` sees to that.
 */
export default definePlugin<PlannerSettings>({
  kind: "feature",
  name: "context-planner",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "session" },
  strategies: ["planner"],
  capabilities: ["models", "actions", "traces", "env:SVC_PLANNER_DEBUG"],
  setup(ctx): Lifecycle<PlannerSettings> {
    let settings = ctx.config;
    ctx.hooks.assembleContext.tap(
      (context, turn, call) => (turn.strategy !== "planner" || context.strategy !== undefined ? context : planned(context, turn, call.signal)),
      { phase: "strategy", step: "plan", timeoutMs: LIMIT_MS },
    );

    async function planned(context: TurnContext, turn: Turn, signal: AbortSignal): Promise<TurnContext> {
      try {
        const [{ keep, makePlan }, { crossChat, retrieved }] = await Promise.all([import("./plan.js"), import("./retrieval.js")]);
        const plan = await makePlan(ctx.models, context.prompt, context.history, settings.continuityStateTurns, signal);
        if (ctx.env("SVC_PLANNER_DEBUG") === "1") ctx.log.info({ agent: turn.agent.id, task: turn.id, plan }, "planned");
        const added = await Promise.all([
          ...(plan.retrieve?.trim() ? [retrieved(ctx, turn, plan.retrieve, signal)] : []),
          ...(plan.hints ? [crossChat(ctx, turn)] : []),
        ]);
        return { ...context, strategy: "planner", layers: [...context.layers, ...added], history: keep(context.history, plan.keepTurns) };
      } catch (error) {
        ctx.log.warn({ err: error, agent: turn.agent.id, task: turn.id }, "the planner did not decide; this turn is built by layered");
        return context;
      }
    }
    return {
      async reload(next) {
        settings = next;
      },
    };
  },
});
