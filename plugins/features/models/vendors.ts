import type { ModelApi } from "./provider-address.ts";

/** The entry of `providers` for agents that name none. */
export const MAIN_PROVIDER = "anthropic";

/** Where the providers of these names are, unless their entry has an `endpoint`. */
export const ADDRESSES: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  llamacpp: "http://127.0.0.1:8080/v1",
};

/** Default model of an agent, by its provider's protocol. */
export const AGENT_MODELS: Readonly<Partial<Record<ModelApi, string>>> = { anthropic: "claude-sonnet-4-5" };

/** A vendor whose small model takes data out of texts. */
export interface SmallModel {
  readonly api: ModelApi;
  readonly model: string;
  readonly keyVariable: string;
  /** Names another address; its value ends before `path`. */
  readonly baseVariable: string;
  readonly base: string;
  readonly path: string;
}

/** In the order in which they are asked: the first one whose key is set. */
export const SMALL_MODELS: readonly SmallModel[] = [
  {
    api: "anthropic",
    model: "claude-haiku-4-5",
    keyVariable: "ANTHROPIC_API_KEY",
    baseVariable: "ANTHROPIC_BASE_URL",
    base: new URL(ADDRESSES["anthropic"] as string).origin,
    path: "/v1/messages",
  },
  {
    api: "openai",
    model: "gpt-4.1-mini",
    keyVariable: "OPENAI_API_KEY",
    baseVariable: "OPENAI_BASE_URL",
    base: ADDRESSES["openai"] as string,
    path: "/chat/completions",
  },
];
