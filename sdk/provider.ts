import type { Agent } from "./agents.ts";
import { svcError } from "./errors.ts";

/**
 * An entry of `providers`, as a tier reads it with `config: { at: "providers" }` (001:L25-32). `defaultModel` and `baseUrl` are
 * accepted there and mean nothing (CFG-13), so they are not here.
 */
export interface Provider {
  readonly apiKey?: string;
  readonly endpoint?: string;
  readonly api?: ModelApi;
  readonly thinking?: boolean;
}

/** Which protocol an address speaks: Anthropic's messages, or the chat completions of OpenAI that most other servers speak too. */
export type ModelApi = "anthropic" | "openai";

/** Where and how a model is called. */
export interface ModelAddress {
  /** The entry of `providers`, for messages. */
  readonly provider: string;
  readonly api: ModelApi;
  /** What `/messages` or `/chat/completions` is appended to; no slash at its end. */
  readonly url: string;
  /** Unset where none is needed: a server on this machine. */
  readonly key?: string;
  readonly model: string;
  readonly thinking: boolean;
}

/** The entry for agents that name none. */
export const MAIN_PROVIDER = "anthropic";

/** What an agent without a model gets from the Anthropic API. */
const MODEL = "claude-sonnet-4-5";

/** Where the providers of these names are, unless their entry has an `endpoint`. */
const ADDRESSES: Readonly<Record<string, string>> = {
  anthropic: "https://api.anthropic.com/v1",
  openai: "https://api.openai.com/v1",
  ollama: "http://127.0.0.1:11434/v1",
  lmstudio: "http://127.0.0.1:1234/v1",
  llamacpp: "http://127.0.0.1:8080/v1",
};

/**
 * The model that an agent runs on. The provider is the agent's `provider`, else `anthropic`; its entry's `api` says what it speaks,
 * by default `anthropic` for the provider of that name and `openai` for every other; `endpoint` is used as written, with `/v1` where
 * it has no path. A key is needed unless the address is on this machine and the entry has no `apiKey`; one that is there and empty
 * refuses. `model` wins over the agent's own. Throws `SVC_PROVIDER_KEY` (000:L341), `SVC_PROVIDER_ENDPOINT` or `SVC_PROVIDER_MODEL`,
 * each with a `kind` for the tier's error event.
 */
export function modelAddress(providers: Readonly<Record<string, Provider>>, agent: Agent, model = agent.model): ModelAddress {
  const provider = (agent.settings.provider as string | undefined) ?? MAIN_PROVIDER;
  const entry = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const { apiKey: key, api = provider === "anthropic" ? "anthropic" : "openai", thinking = false } = entry ?? {};
  const url = entry?.endpoint === undefined ? ADDRESSES[provider] : withPath(entry.endpoint);
  if (key === "" || (key === undefined && (entry === undefined || url === undefined || !isLoopback(url))))
    throw svcError("SVC_PROVIDER_KEY", "No API key for provider", { kind: "no-key", path: `providers.${provider}.apiKey` });
  if (url === undefined)
    throw svcError("SVC_PROVIDER_ENDPOINT", `The address of the provider '${provider}' is not known; set providers.${provider}.endpoint.`, {
      kind: "no-endpoint",
      path: `providers.${provider}.endpoint`,
    });
  const chosen = model ?? (api === "anthropic" ? MODEL : undefined);
  if (chosen === undefined)
    throw svcError("SVC_PROVIDER_MODEL", `The provider '${provider}' has no default model; set agents.${agent.id}.model.`, {
      kind: "no-model",
      path: `agents.${agent.id}.model`,
    });
  return { provider, api, url, ...(key === undefined ? {} : { key }), model: chosen, thinking };
}

/** For a tier's `probe`: which providers can be called at all. Asks nobody. */
export function probeProviders(providers: Readonly<Record<string, Provider>>): { readonly ok: boolean; readonly detail: string } {
  const usable = Object.entries(providers).filter(([name, { apiKey, endpoint }]) => {
    const url = endpoint ?? ADDRESSES[name];
    return url !== undefined && (apiKey === undefined ? isLoopback(url) : apiKey !== "");
  });
  if (usable.length === 0) return { ok: false, detail: `No API key for provider; set providers.${MAIN_PROVIDER}.apiKey` };
  return { ok: true, detail: `providers: ${usable.map(([name]) => name).join(", ")}` };
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

/** Why a call of a model failed. `retryMs`: it may work after that long, if nothing of an answer has been passed on (FAULT-73). */
export interface ModelFailure {
  readonly kind: "auth" | "rate-limit" | "overloaded" | "server" | "request" | "network";
  readonly message: string;
  readonly retryMs?: number;
}

const RETRY_MS = 1000;
/** A provider that asks for more patience than this is told to the sender instead. */
const LONGEST_RETRY_MS = 60_000;

/** Judges an answer with an error status; without a status the API could not be reached. `headers` by lower-case names. */
export function modelFailure(
  { provider }: Pick<ModelAddress, "provider">,
  answer: { readonly status?: number | undefined; readonly message: string; readonly headers?: Readonly<Record<string, string>> | undefined },
): ModelFailure {
  const { status, message, headers = {} } = answer;
  const asked = Number(headers["retry-after"]) * 1000;
  const wait = asked >= 0 ? asked : RETRY_MS;
  const retry = wait <= LONGEST_RETRY_MS ? { retryMs: wait } : {};
  if (status === undefined) return { kind: "network", message: `The provider '${provider}' could not be reached: ${message}`, ...retry };
  // What the API says about a wrong key may repeat it.
  if (status === 401 || status === 403)
    return { kind: "auth", message: `The provider '${provider}' refused the API key (status ${status}); check providers.${provider}.apiKey.` };
  if (status === 429) return { kind: "rate-limit", message: `The provider '${provider}' limits the rate of requests (status 429): ${message}`, ...retry };
  if (status === 529 || status === 503)
    return { kind: "overloaded", message: `The provider '${provider}' is overloaded (status ${status}); try again later.`, ...retry };
  if (status >= 500) return { kind: "server", message: `The provider '${provider}' failed (status ${status}): ${message}`, ...retry };
  return { kind: "request", message: `The provider '${provider}' refused the request (status ${status}): ${message}` };
}
