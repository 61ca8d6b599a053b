import { type Agent, type TierFailure, tierFailure } from "@svc/sdk";
import { ADDRESSES, AGENT_MODELS, MAIN_PROVIDER } from "./vendors.ts";

/** An entry of `providers` (001:L25-32). `defaultModel` and `baseUrl` are accepted there and mean nothing (CFG-13). */
export interface Provider {
  readonly apiKey?: string;
  readonly endpoint?: string;
  readonly api?: ModelApi;
  readonly thinking?: boolean;
  readonly baseUrl?: string;
}

/** The section `providers`. */
export type Providers = Readonly<Record<string, Provider>>;

/** Protocol of an address: Anthropic's messages, or the chat completions of OpenAI that most other servers support too. */
export type ModelApi = "anthropic" | "openai";

/** Where and how a model is called. */
export interface ModelAddress {
  /** The entry of `providers`, for messages. */
  readonly provider: string;
  readonly api: ModelApi;
  /** Base address to which `/messages` or `/chat/completions` is appended; without a slash at its end. */
  readonly url: string;
  /** Unset where none is needed: a server on this machine. */
  readonly key?: string;
  readonly model: string;
  readonly thinking: boolean;
}

/** Why there is no address: the failure of a turn, and the setting to look at. */
export interface NoAddress {
  readonly failure: TierFailure;
  readonly setting: string;
}

/**
 * The model that an agent runs on. The provider is the agent's `provider`, else `anthropic`; its entry's `api` says what it speaks,
 * by default `anthropic` for the provider of that name and `openai` for every other; `endpoint` is used as written, with `/v1` where
 * it has no path. A key is needed unless the address is on this machine and the entry has no `apiKey`; one that is there and empty
 * refuses (000:L341). `model` wins over the agent's own.
 */
export function modelAddress(providers: Providers, agent: Agent, model = agent.model): ModelAddress | NoAddress {
  const provider = (agent.settings.provider as string | undefined) ?? MAIN_PROVIDER;
  const entry = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const { apiKey: key, api = provider === MAIN_PROVIDER ? "anthropic" : "openai", thinking = false } = entry ?? {};
  const url = entry?.endpoint === undefined ? ADDRESSES[provider] : withPath(entry.endpoint);
  const at = `providers.${provider}`;
  if (key === "" || (key === undefined && (entry === undefined || url === undefined || !isLoopback(url))))
    return { failure: tierFailure("no-key", "No API key for provider"), setting: `${at}.apiKey` };
  if (url === undefined) {
    const unread = entry?.baseUrl === undefined ? "" : " (baseUrl is not read)";
    return {
      failure: tierFailure("no-endpoint", `The address of the provider '${provider}' is not known; set ${at}.endpoint${unread}.`),
      setting: `${at}.endpoint`,
    };
  }
  const chosen = model ?? AGENT_MODELS[api];
  const setting = `agents.${agent.id}.model`;
  if (chosen === undefined) return { failure: tierFailure("no-model", `The provider '${provider}' has no default model; set ${setting}.`), setting };
  return { provider, api, url, ...(key === undefined ? {} : { key }), model: chosen, thinking };
}

function withPath(endpoint: string): string {
  const url = new URL(endpoint);
  if (url.pathname === "/") url.pathname = "/v1";
  return url.href.replace(/\/+$/, "");
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}
