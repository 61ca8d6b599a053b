import type { ModelAddress, PluginContext, SvcError, TierEvent, Turn, TurnContext, Usage } from "@svc/sdk";
import { actionTools } from "./actions.ts";
import { runCalls } from "./calls.ts";
import { callModel, type ModelAnswer, toolMessage } from "./client.ts";
import { messagesOf, systemOf } from "./content.ts";
import { openServers } from "./servers.ts";
import { readAgent } from "./settings.ts";
import { byModelName } from "./tool.ts";

/** Room for each answer where the task names no smaller one. */
const MAX_OUTPUT_TOKENS = 16_384;

/**
 * One turn, top to bottom:
 *
 *   tool servers -> model call -> no tools wanted -> usage, done
 *      |               ^   |'-> fails: usage so far, error
 *      |               |   v
 *      |               '- the calls, side by side: each a step, each failure an answer to the model
 *      '-> one that fails or hangs: a step with its error, the turn goes on without it
 */
export async function* runTurn(
  ctx: Pick<PluginContext, "actions" | "files" | "media" | "spawn">,
  address: ModelAddress,
  turn: Turn,
  context: TurnContext,
  signal: AbortSignal,
): AsyncGenerator<TierEvent> {
  const settings = readAgent(turn.agent);
  const system = systemOf(context);
  const messages = await messagesOf(ctx.media, context);
  const maxOutputTokens = turn.messages[0].options?.maxOutputTokens ?? MAX_OUTPUT_TOKENS;
  // Planning is thinking without doing.
  const plans = turn.agent.settings.permissionMode === "plan";
  const servers = plans ? undefined : await openServers(ctx, turn, settings.serverTimeoutSeconds * 1000, signal);
  const spent: { -readonly [K in keyof Omit<Usage, "cost">]-?: number } = { input: 0, output: 0, cacheRead: 0, cacheCreate: 0 };
  let model = address.model;
  const usage = (): TierEvent => ({ type: "usage", usage: { ...spent }, model });
  try {
    yield* servers?.missing ?? [];
    const tools = byModelName(plans ? [] : [...actionTools(ctx, turn, settings.actions), ...(servers?.tools ?? [])]);
    const speech = { begun: false };
    for (let round = 1; round <= settings.maxSteps; round += 1) {
      const answer = yield* spaced(callModel({ address, system, messages, tools, maxOutputTokens }, signal), speech);
      model = answer.model;
      for (const [kind, tokens] of Object.entries(answer.usage)) spent[kind as keyof typeof spent] += tokens;
      if (answer.calls.length === 0 && !repeats(answer)) {
        yield usage();
        yield speech.begun ? { type: "done" } : { type: "error", kind: "no-answer", message: `The model gave no answer; it stopped with '${answer.stopped}'.` };
        return;
      }
      messages.push(...answer.messages);
      if (round === settings.maxSteps) break;
      const answers = yield* runCalls(answer.calls, tools, round, signal);
      if (answers === undefined) return;
      if (answers.length > 0) messages.push(toolMessage(answers));
    }
    yield usage();
    yield {
      type: "error",
      kind: "step-limit",
      message: `The work was not done after ${settings.maxSteps} model calls; raise agents.${turn.agent.id}.orchestrator.maxSteps, or ask for less at once.`,
    };
  } catch (error) {
    if (signal.aborted) return;
    const { code, message, kind } = error as SvcError & { kind?: string };
    if (code !== "SVC_MODEL_CALL") throw error;
    yield usage();
    yield { type: "error", kind: kind ?? "model", message };
  } finally {
    await servers?.close();
  }
}

/** The model called something in a way that cannot be read; it was told so and may try again. */
const repeats = ({ messages }: ModelAnswer): boolean => messages.at(-1)?.role === "tool";

/** An empty line between the words of one step and those of the next. */
async function* spaced(stream: AsyncGenerator<TierEvent, ModelAnswer>, speech: { begun: boolean }): AsyncGenerator<TierEvent, ModelAnswer> {
  let apart = speech.begun;
  try {
    for (;;) {
      const next = await stream.next();
      if (next.done) return next.value;
      if (next.value.type === "text") {
        if (apart) yield { type: "text", text: "\n\n" };
        apart = false;
        speech.begun = true;
      }
      yield next.value;
    }
  } finally {
    await stream.return(undefined as never);
  }
}
