import type { ObjectSchema, Schema } from "./config.ts";
import type { TierFailure } from "./failure.ts";
import type { Usage } from "./messages.ts";
import type { Picture } from "./picture.ts";
import { recentHistory, type TurnContext, turnText } from "./tier.ts";

/** Capability `models`: the models of the configuration. Addresses and keys stay with the plugin that serves the models. */
export interface Models {
  /**
   * One forced-tool extraction call to the configured small model; the answer is validated against `schema`. Throws
   * `SVC_MODEL_NO_KEY`, `SVC_MODEL_SCHEMA`, `SVC_MODEL_FAILED` or `SVC_MODEL_SHAPE`.
   */
  extract(request: {
    readonly prompt: string;
    readonly system?: string;
    readonly schema: Schema;
    readonly maxTokens?: number;
    readonly signal?: AbortSignal;
  }): Promise<unknown>;
  /**
   * One streamed call of an agent's model, chosen by its `provider` and `model`. Ends with exactly one `end` or `error`, or, when `signal` aborts,
   * without one; never throws. A failure before the first word is retried where that may help. Ending the iteration ends the call.
   */
  stream(call: ModelCall): AsyncIterable<ModelEvent>;
  /** Whether the agent's model can be called, as far as the configuration says. Makes no request. */
  usable(agent: string): Promise<{ readonly ok: boolean; readonly detail: string }>;
}

/** Request to a model. */
export interface ModelCall {
  /** The id of the agent whose model it is. */
  readonly agent: string;
  /** In place of the agent's own. */
  readonly model?: string;
  readonly system?: string;
  readonly messages: readonly ModelMessage[];
  /** Tools that the model may call. Its calls are returned; the caller runs them. */
  readonly tools?: readonly ModelTool[];
  readonly maxOutputTokens?: number;
  readonly signal?: AbortSignal;
}

/**
 * A part of a conversation. `cache`: the next call begins with the same words up to here, so that a vendor that wants such a mark may
 * keep them; two such marks count, later ones first.
 */
export type ModelMessage =
  | { readonly role: "user"; readonly text: string; readonly pictures?: readonly Picture[]; readonly cache?: boolean }
  | ModelReply
  | { readonly role: "tool"; readonly results: readonly ModelToolResult[]; readonly cache?: boolean };

/** Answer of a model. Pass it into the next call unchanged: it may hold thoughts that the vendor has signed. */
export interface ModelReply {
  readonly role: "assistant";
  readonly text: string;
  readonly calls?: readonly ModelToolCall[];
  /** The vendor's own form of this answer. */
  readonly own?: unknown;
  readonly cache?: boolean;
}

/** A tool that a model may call. */
export interface ModelTool {
  /** Letters, digits, `_` and `-`, at most 64. */
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
}

/** A tool call requested by a model. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  /** Unset when it was not valid JSON. Not checked against the tool's schema. */
  readonly input?: unknown;
}

/** Each call is answered, in the order of the calls. */
export interface ModelToolResult {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly failed?: boolean;
}

/** Events of a model's call. `usage` comes once, also for a call that was ended, as far as the vendor had sent it by then. */
export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thinking"; readonly text: string }
  | { readonly type: "waiting"; readonly reason: string; readonly retryAfterMs: number }
  | { readonly type: "usage"; readonly usage: Usage; readonly model: string }
  /** `stopped` is the vendor's own word for why. */
  | { readonly type: "end"; readonly stopped: string; readonly reply: ModelReply }
  | TierFailure;

/**
 * Returns a turn as messages for a model: the bounded history, whose end is marked for the cache, then pictures and text of this turn. `share` is the
 * used part of the history's limit: less if the model has found it too long.
 */
export function turnMessages(
  context: Pick<TurnContext, "history" | "layers" | "prompt">,
  given: { readonly pictures: readonly Picture[]; readonly note: string } = { pictures: [], note: "" },
  share = 1,
): ModelMessage[] {
  // Vendors refuse an empty text.
  const past = recentHistory(
    context.history.filter(({ text }) => text.trim() !== ""),
    share,
  );
  const last = past.length - 1;
  return [
    ...past.map(({ role, text }, at): ModelMessage => ({ role, text, ...(at === last ? { cache: true } : {}) })),
    { role: "user", text: turnText(context) + given.note, ...(given.pictures.length === 0 ? {} : { pictures: given.pictures }) },
  ];
}
