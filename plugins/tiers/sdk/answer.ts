import type { PluginContext, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { byModelName, daemonTools, runToolLoop } from "@svc/sdk/tool-loop";

/** Model calls of one turn: more is work for the tier orchestrator, which can be told how many. */
const MOST_STEPS = 25;

/** The part of the context that this tier uses. */
export type Borrowed = Pick<PluginContext, "media" | "models" | "services" | "tools">;

/** One turn: a call of the agent's model, and one more after each round of the tools that the agent may use. */
export async function* answer(ctx: Borrowed, turn: Turn, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent> {
  const given = await ctx.media.pictures(context.media);
  const { model, maxOutputTokens } = turn.messages[0].options ?? {};
  yield* runToolLoop(ctx.models, {
    agent: turn.agent.id,
    ...(model === undefined ? {} : { model }),
    system: context.system,
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    signal,
    context,
    given,
    tools: byModelName(await daemonTools(ctx, turn)),
    maxSteps: MOST_STEPS,
    advice: "ask for less at once, or give the agent the tier orchestrator and raise its maxSteps.",
  });
}
