import { type PluginContext, type TierEvent, type Turn, type TurnContext, tierFailure, turnMessages } from "@svc/sdk";

/** How much of the history is sent: less each time that the model finds the conversation too long. */
const SHARES = [1, 0.25, 0];

/** One turn: one call of the agent's model, and once more with less history where that is too long for it. */
export async function* answer(ctx: Pick<PluginContext, "media" | "models">, turn: Turn, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent> {
  if (signal.aborted) return;
  const given = await ctx.media.pictures(context.media);
  const { model, maxOutputTokens } = turn.messages[0].options ?? {};
  for (const share of context.history.length === 0 ? [0] : SHARES) {
    const call = {
      agent: turn.agent.id,
      ...(model === undefined ? {} : { model }),
      system: context.system,
      messages: turnMessages(context, given, share),
      ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
      signal,
    };
    let tooLong = false;
    for await (const event of ctx.models.stream(call)) {
      if (event.type === "end") {
        yield event.reply.text === "" ? tierFailure("no-answer", `The model gave no answer; it stopped with '${event.stopped}'.`) : { type: "done" };
        return;
      }
      tooLong = event.type === "error" && event.kind === "context" && share > 0;
      if (tooLong) break;
      yield event;
    }
    if (!tooLong) return;
    yield { type: "step", step: { id: `history ${share}`, name: "history", phase: "end", output: "too long for the model; shortened" } };
  }
}
