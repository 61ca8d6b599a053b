import { coversName, type PluginContext, type Turn } from "@svc/sdk";
import type { Tool } from "@svc/sdk/tool-loop";

/** The actions that the agent's configuration allows, as tools. Each call is judged, timed and traced by the daemon. */
export function actionTools(ctx: Pick<PluginContext, "actions">, turn: Turn, allowed: readonly string[]): Tool[] {
  const chain = turn.messages[0].options?.chain;
  return ctx.actions
    .list()
    .filter(({ name, unusable }) => unusable === undefined && coversName(allowed, name))
    .map(({ name, description, input }) => ({
      name,
      description,
      input,
      async run(given, signal, step) {
        const envelope = await ctx.actions.run(name, given, {
          door: "agent",
          agent: turn.agent.id,
          taskId: turn.id,
          step,
          ...(chain === undefined ? {} : { chain }),
          signal,
        });
        if (envelope.status === "error") throw new Error(envelope.error ?? "it failed");
        return typeof envelope.output === "string" ? envelope.output : (JSON.stringify(envelope.output) ?? "");
      },
    }));
}
