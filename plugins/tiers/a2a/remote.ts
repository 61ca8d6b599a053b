import { type FetchStream, readEventStream, type StreamingFetch, svcError } from "@svc/sdk";
import { type Card, type Generation, readCard } from "./generation.ts";
import type { A2aSettings } from "./settings.ts";

/** One message of a stream. */
export interface RemoteEvent {
  readonly id?: string;
  readonly answer: RpcAnswer;
}

/** A JSON-RPC answer. */
export interface RpcAnswer {
  readonly result?: unknown;
  readonly error?: { readonly code?: number; readonly message?: string };
}

const CARDS = ["/.well-known/agent-card.json", "/.well-known/agent.json"];
const CARD_BYTES = 262_144;
const ANSWER_BYTES = 8_388_608;
const HOUR_MS = 3_600_000;
/** A server that streams says something at least so often. */
const IDLE_MS = 300_000;

/** Dependencies of the connection to a server. */
export interface RemoteOptions {
  readonly settings: A2aSettings;
  readonly fetch: StreamingFetch;
  readonly token: string | undefined;
}

/**
 * Somebody else's A2A server. Its address is the operator's, so it may be a private one; what its card says is the server's own word: another
 * host is not called, and the bearer goes nowhere else.
 */
export class Remote {
  readonly #options: RemoteOptions;

  constructor(options: RemoteOptions) {
    this.#options = options;
  }

  /** Throws `SVC_A2A_CARD` for a server that shows none, or wants to be called elsewhere. */
  async card(signal: AbortSignal): Promise<Card & { readonly address: string }> {
    const { settings, fetch } = this.#options;
    const base = settings.url.replace(/\/+$/, "");
    let status = 0;
    for (const path of CARDS) {
      const answer = await fetch(base + path, { headers: this.#headers({}), signal, maxBytes: CARD_BYTES, maxRedirects: 0, trustedOrigins: this.#trusted() });
      status = answer.status;
      if (status === 200) return this.#place(readCard(jsonOf(answer.text())), base);
      if (status !== 404) break;
    }
    throw svcError(
      "SVC_A2A_CARD",
      status === 401 || status === 403 ? `${base} wants a bearer: set a2a.tokenEnv.` : `${base} shows no agent card: it answered ${status}.`,
      { status },
    );
  }

  #place(card: Card, base: string): Card & { readonly address: string } {
    const { endpoint } = this.#options.settings;
    if (endpoint !== undefined) return { ...card, address: endpoint };
    const address = URL.canParse(card.address ?? "", base) ? new URL(card.address ?? "", base) : new URL(base);
    if (address.origin !== new URL(base).origin)
      throw svcError("SVC_A2A_CARD", `The card of ${base} wants calls at ${address.origin}; name that address as a2a.endpoint if it is the right one.`);
    return { ...card, address: address.href };
  }

  /** One call and its answer. */
  async call(address: string, generation: Generation, method: string, params: object, signal: AbortSignal): Promise<RpcAnswer> {
    const answer = await this.#options.fetch(address, { ...this.#post(generation, method, params), signal, timeoutMs: HOUR_MS, maxBytes: ANSWER_BYTES });
    if (answer.status !== 200) throw refused(address, answer.status);
    return jsonOf(answer.text()) as RpcAnswer;
  }

  /** One call whose answer is a stream; a server that answers at once has a stream of one. */
  async *stream(address: string, generation: Generation, method: string, params: object, signal: AbortSignal, lastId?: string): AsyncGenerator<RemoteEvent> {
    const post = this.#post(generation, method, params, {
      accept: "text/event-stream, application/json",
      ...(lastId === undefined ? {} : { "last-event-id": lastId }),
    });
    const answer = await this.#options.fetch.stream(address, { ...post, signal, idleMs: IDLE_MS, timeoutMs: IDLE_MS, maxBytes: ANSWER_BYTES * 8 });
    if (answer.status !== 200) throw refused(address, answer.status);
    if (!(answer.headers["content-type"] ?? "").startsWith("text/event-stream")) yield { answer: jsonOf(await textOf(answer)) as RpcAnswer };
    else yield* eventsOf(answer);
  }

  #post({ headers }: Generation, method: string, params: object, more: Readonly<Record<string, string>> = {}) {
    return {
      method: "POST",
      headers: this.#headers({ "content-type": "application/json", ...headers, ...more }),
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      maxRedirects: 0,
      trustedOrigins: this.#trusted(),
    };
  }

  #trusted(): readonly string[] {
    const { url, endpoint } = this.#options.settings;
    return [url, ...(endpoint === undefined ? [] : [endpoint])].map((address) => new URL(address).origin);
  }

  #headers(more: Readonly<Record<string, string>>): Record<string, string> {
    const { token } = this.#options;
    return { ...more, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  }
}

const refused = (address: string, status: number) => svcError("SVC_A2A_ANSWER", `${new URL(address).origin} answered ${status}.`, { status });

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw svcError("SVC_A2A_ANSWER", "The A2A server's answer is no JSON.");
  }
}

async function textOf({ body }: FetchStream): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** The answers of a stream, with the ids of their events. */
async function* eventsOf({ body }: FetchStream): AsyncGenerator<RemoteEvent> {
  for await (const { id, data } of readEventStream(body)) yield { ...(id === undefined ? {} : { id }), answer: jsonOf(data) as RpcAnswer };
}
