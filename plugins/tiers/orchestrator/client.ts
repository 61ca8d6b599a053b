import { setTimeout as sleep } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type ModelAddress, type ModelFailure, modelFailure, svcError, type TierEvent, type Usage } from "@svc/sdk";
import { APICallError, jsonSchema, type LanguageModel, type LanguageModelUsage, type ModelMessage, streamText, type ToolSet, tool } from "ai";
import type { ToolAnswer, ToolCall } from "./calls.ts";
import type { systemOf } from "./content.ts";
import { atMost, type Tool } from "./tool.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

const TRIES = 3;
/** What older models may think before each answer, in tokens; newer ones decide themselves. */
const THINKING_TOKENS = 4096;
const CACHED = { anthropic: { cacheControl: { type: "ephemeral" as const } } };

/** One call of the model. */
export interface ModelCall {
  readonly address: ModelAddress;
  readonly system: ReturnType<typeof systemOf>;
  readonly messages: readonly ModelMessage[];
  readonly tools: ReadonlyMap<string, Tool>;
  readonly maxOutputTokens: number;
}

/** What a model call came to. */
export interface ModelAnswer {
  /** The answer as a part of the conversation. */
  readonly messages: readonly ModelMessage[];
  /** The tools it wants; empty when it is done. */
  readonly calls: readonly ToolCall[];
  readonly usage: Usage;
  readonly model: string;
  /** The API's own word for why it stopped. */
  readonly stopped: string;
}

/**
 * Calls the model and passes on what it says. A call that fails before its first word is tried again where that may help (FAULT-73).
 * Throws `SVC_MODEL_CALL` with a `kind`, or the signal's reason.
 */
export async function* callModel(call: ModelCall, signal: AbortSignal): AsyncGenerator<TierEvent, ModelAnswer> {
  const { address } = call;
  for (let tried = 1; ; tried += 1) {
    let said = false;
    const stream = converse(call, signal);
    try {
      for (;;) {
        const next = await stream.next();
        if (next.done) return next.value;
        said = true;
        yield next.value;
      }
    } catch (error) {
      signal.throwIfAborted();
      const failure = judge(address, error);
      if (said)
        throw svcError("SVC_MODEL_CALL", `The answer of the provider '${address.provider}' broke off in the middle; ask again.`, { kind: "cut", cause: error });
      if (tried === TRIES || failure.retryMs === undefined) throw svcError("SVC_MODEL_CALL", failure.message, { kind: failure.kind, cause: error });
      await sleep(failure.retryMs * tried, undefined, { signal });
    } finally {
      await stream.return(undefined as never);
    }
  }
}

/** One request and all that comes of it. Throws when it fails, and when the stream ends without the API's word that it is over. */
async function* converse({ address, system, messages, tools, maxOutputTokens }: ModelCall, signal: AbortSignal): AsyncGenerator<TierEvent, ModelAnswer> {
  // Ends the connection also when the reader of this stream goes away.
  const stop = new AbortController();
  const result = streamText({
    model: languageModel(address),
    ...system,
    messages: cached(messages),
    tools: offered(tools),
    providerOptions: thinkingOf(address),
    maxOutputTokens,
    maxRetries: 0,
    abortSignal: AbortSignal.any([signal, stop.signal]),
    onError: () => undefined,
  });
  const calls: ToolCall[] = [];
  let finish: { usage: LanguageModelUsage; model: string; stopped: string } | undefined;
  try {
    for await (const part of result.fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta" && part.text !== "") yield { type: "text", text: part.text };
      if (part.type === "reasoning-delta" && part.text !== "" && address.thinking) yield { type: "thinking", text: part.text };
      if (part.type === "tool-call" && !part.invalid) calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
      if (part.type === "tool-error")
        yield { type: "step", step: { id: part.toolCallId, name: part.toolName, phase: "end", error: atMost(String(part.error), 300) } };
      if (part.type === "finish-step" && part.rawFinishReason !== undefined)
        finish = { usage: part.usage, model: part.response.modelId, stopped: part.rawFinishReason };
    }
    if (finish === undefined) throw new Error("the stream ended in the middle");
    return { ...finish, messages: (await result.response).messages, calls, usage: usageOf(finish.usage) };
  } finally {
    stop.abort();
  }
}

/** The answers of tools, as the next part of the conversation. */
export function toolMessage(answers: readonly ToolAnswer[]): ModelMessage {
  return {
    role: "tool",
    content: answers.map(({ call, text, failed }) => ({
      type: "tool-result",
      toolCallId: call.id,
      toolName: call.name,
      output: { type: failed ? "error-text" : "text", value: text || "(nothing)" },
    })),
  };
}

function languageModel({ api, provider, url, key, model }: ModelAddress): LanguageModel {
  // A key goes to the configured address only: a redirect is an error.
  const direct: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
  if (api === "anthropic") return createAnthropic({ baseURL: url, apiKey: key ?? "none", fetch: direct })(model);
  return createOpenAICompatible({ name: provider, baseURL: url, ...(key === undefined ? {} : { apiKey: key }), includeUsage: true, fetch: direct })(model);
}

/** Without a way to run them: the calls come back, and the loop decides. */
function offered(tools: ReadonlyMap<string, Tool>): ToolSet {
  return Object.fromEntries([...tools].map(([name, { description, input }]) => [name, tool({ description, inputSchema: jsonSchema(input as object) })]));
}

/** The conversation so far is marked for the cache: the next step sends it again. */
function cached(messages: readonly ModelMessage[]): ModelMessage[] {
  const last = messages.at(-1);
  return last === undefined ? [] : [...messages.slice(0, -1), { ...last, providerOptions: CACHED }];
}

/** Models of the generations before 4.6 are given a budget, later ones refuse it. */
function thinkingOf({ api, thinking, model }: ModelAddress) {
  if (api !== "anthropic" || !thinking) return {};
  const adaptive = model.includes("claude") && !/-3-|-4-[015](?!\d)|-4-\d{8}/.test(model);
  return { anthropic: { thinking: adaptive ? { type: "adaptive", display: "summarized" } : { type: "enabled", budgetTokens: THINKING_TOKENS } } };
}

function usageOf({ inputTokens = 0, inputTokenDetails, outputTokens = 0 }: LanguageModelUsage): Usage {
  const { noCacheTokens = inputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = inputTokenDetails;
  return { input: noCacheTokens, output: outputTokens, cacheRead: cacheReadTokens, cacheCreate: cacheWriteTokens };
}

function judge(address: ModelAddress, error: unknown): ModelFailure {
  const message = (error as { message?: string } | undefined)?.message ?? "no reason given";
  if (!APICallError.isInstance(error)) return modelFailure(address, { message });
  return modelFailure(address, { status: error.statusCode, headers: error.responseHeaders, message });
}
