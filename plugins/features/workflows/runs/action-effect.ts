import type { PluginContext } from "@svc/sdk";
import { resolveSecrets } from "../expressions/secret-references.ts";
import type { EffectRunner } from "./effects.ts";

/** Steps of the kind `action`: the action receives the key of the step; secrets are inserted after the journal was written. */
export const actionEffect =
  (ctx: Pick<PluginContext, "actions" | "env">): EffectRunner =>
  async ({ given, key, again, signal }) => {
    // It is unknown whether its effect has taken place: the node's setting decides.
    if (again) return { fault: { code: "INTERRUPTED", message: "the daemon was stopped while the action was at work" } };
    const shown = given["input"];
    const input = resolveSecrets(shown, (name) => ctx.env(name));
    const envelope = await ctx.actions.run(String(given["action"]), input, { door: "workflow", key, shown, signal });
    if (signal.aborted) return undefined;
    if (envelope.status === "ok") return { output: envelope.output ?? null };
    return { fault: { code: "ERROR", message: envelope.error ?? "the action failed without a reason" } };
  };
