import type { PluginContext, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { byModelName, daemonTools, runToolLoop } from "@svc/sdk/tool-loop";
import { actionTools } from "./actions.ts";
import type { ServerPool } from "./server-pool.ts";
import { openServers } from "./servers.ts";
import { readAgent } from "./settings.ts";

/**
 * One turn: tool servers, then the loop of model and tools. A server that fails or hangs is a step with its error, and the turn goes on
 * without it.
 */
export async function* runTurn(
  ctx: Pick<PluginContext, "actions" | "files" | "media" | "models" | "services" | "spawn" | "tools">,
  pool: ServerPool,
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
): AsyncGenerator<TierEvent> {
  const settings = readAgent(turn.agent);
  const given = await ctx.media.pictures(context.media);
  // Planning is thinking without doing.
  const plans = turn.agent.settings.permissionMode === "plan";
  const servers = plans ? undefined : await openServers(ctx, pool, turn, settings.serverTimeoutSeconds * 1000, signal);
  try {
    yield* servers?.missing ?? [];
    const actions = plans ? [] : actionTools(ctx, turn, settings.actions);
    const others = plans ? [] : (await daemonTools(ctx, turn)).filter(({ name }) => !actions.some((action) => action.name === name));
    const { model, maxOutputTokens } = turn.messages[0].options ?? {};
    yield* runToolLoop(ctx.models, {
      agent: turn.agent.id,
      ...(model === undefined ? {} : { model }),
      system: context.system,
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      signal,
      context,
      given,
      tools: byModelName([...actions, ...others, ...(servers?.tools ?? [])]),
      maxSteps: settings.maxSteps,
      advice: `raise agents.${turn.agent.id}.orchestrator.maxSteps, or ask for less at once.`,
    });
  } finally {
    await servers?.release(!signal.aborted);
  }
}
