import { setTimeout as sleep } from "node:timers/promises";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { type MediaReader, type ModelAddress, type ModelFailure, modelFailure, type TierEvent, type Turn, type TurnContext, type Usage } from "@svc/sdk";
import { APICallError, type LanguageModel, type LanguageModelUsage, streamText } from "ai";
import { messagesOf, systemOf } from "./content.ts";

globalThis.AI_SDK_LOG_WARNINGS = false;

/** Room for the whole answer where the task names no smaller one. */
const MAX_OUTPUT_TOKENS = 16_384;
const TRIES = 3;

/**
 * One turn, top to bottom:
 *
 *   messages -> request -> deltas -> usage, done
 *                  |          '-> broken off: error; what was said stands
 *                  '-> failed before the first delta: again, where that may help, else error
 */
export async function* answer(reader: MediaReader, address: ModelAddress, turn: Turn, context: TurnContext, signal: AbortSignal): AsyncGenerator<TierEvent> {
  const request = {
    model: languageModel(address),
    ...systemOf(context),
    messages: await messagesOf(reader, context),
    maxOutputTokens: turn.messages[0].options?.maxOutputTokens ?? MAX_OUTPUT_TOKENS,
  };
  for (let tried = 1; ; tried += 1) {
    let said = false;
    try {
      for await (const event of deltas(request, signal)) {
        said = true;
        yield event;
      }
      return;
    } catch (error) {
      if (signal.aborted) return;
      const failure = judge(address, error);
      if (said) yield { type: "error", kind: "cut", message: `The answer of the provider '${address.provider}' broke off in the middle; ask again.` };
      else if (tried === TRIES || failure.retryMs === undefined) yield { type: "error", kind: failure.kind, message: failure.message };
      else {
        await sleep(failure.retryMs * tried, undefined, { signal }).catch(() => undefined);
        continue;
      }
      return;
    }
  }
}

type Request = Pick<Parameters<typeof streamText>[0], "model" | "system" | "maxOutputTokens"> & { readonly messages: Awaited<ReturnType<typeof messagesOf>> };

/** One request and all that comes of it. Throws when it fails, and when the stream ends without the API's word that it is over. */
async function* deltas(request: Request, signal: AbortSignal): AsyncGenerator<TierEvent> {
  // Ends the connection also when the reader of this stream goes away.
  const stop = new AbortController();
  const abortSignal = AbortSignal.any([signal, stop.signal]);
  let said = false;
  try {
    for await (const part of streamText({ ...request, abortSignal, maxRetries: 0, onError: () => undefined }).fullStream) {
      if (part.type === "error") throw part.error;
      if (part.type === "text-delta" && part.text !== "") {
        said = true;
        yield { type: "text", text: part.text };
      }
      if (part.type !== "finish-step" || part.rawFinishReason === undefined) continue;
      yield { type: "usage", usage: usageOf(part.usage), model: part.response.modelId };
      yield said ? { type: "done" } : { type: "error", kind: "no-answer", message: `The model gave no answer; it stopped with '${part.rawFinishReason}'.` };
      return;
    }
  } finally {
    stop.abort();
  }
  throw new Error("the stream ended in the middle");
}

function languageModel({ api, provider, url, key, model }: ModelAddress): LanguageModel {
  // A key goes to the configured address only: a redirect is an error.
  const direct: typeof fetch = (input, init) => fetch(input, { ...init, redirect: "error" });
  if (api === "anthropic") return createAnthropic({ baseURL: url, apiKey: key ?? "none", fetch: direct })(model);
  return createOpenAICompatible({ name: provider, baseURL: url, ...(key === undefined ? {} : { apiKey: key }), includeUsage: true, fetch: direct })(model);
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
