import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { answerMessages, messagesError, readMessages } from "./model/anthropic.ts";
import { type Fields, object, Refusal, refuseUnless, ScriptedFailure } from "./model/check.ts";
import { answerContents, geminiError, readContents } from "./model/gemini.ts";
import { answerChat, openaiError, readChat } from "./model/openai-chat.ts";
import { answerResponses, readResponses } from "./model/openai-responses.ts";
import { type Conversation, type Move, nextMove } from "./model/script.ts";
import { createExchange, type Exchange } from "./model/wire.ts";

export type Api = "messages" | "count" | "chat" | "responses" | "gemini" | "models" | "other";

/** One request as it came. */
export interface Recorded {
  readonly api: Api;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly key: string | undefined;
  readonly body: Fields;
  /** Unset for requests that were refused. */
  readonly conversation?: Conversation;
}

/** A model on this machine that speaks the vendors' APIs, plays the script in each prompt and refuses what they would refuse. */
export interface ModelServer {
  /** `http://127.0.0.1:<port>`; OpenAI's base address is this with `/v1`. */
  readonly url: string;
  readonly requests: readonly Recorded[];
  /** Why requests were refused as malformed. A test that ends with one of these has found a defect of the client. */
  readonly refusals: readonly string[];
  /** Requests that are being answered. */
  readonly open: number;
  /** Forgets requests, refusals and counted failures. */
  clear(): void;
  close(): Promise<void>;
}

/**
 * Starts the server on a free port of the loopback interface. The key `bad-key` is answered with 401. `decide` is asked first, with the body
 * of the request: where it says nothing, the script in the prompt counts.
 */
export async function startModelServer(decide: (body: Fields) => Move | undefined = () => undefined): Promise<ModelServer> {
  const requests: Recorded[] = [];
  const refusals: string[] = [];
  const failures = new Map<string, number>();
  const cached = new Set<string>();
  let ids = 0;
  let open = 0;
  const server = createServer((request, response) => {
    open += 1;
    response.on("close", () => {
      open -= 1;
    });
    const exchange = createExchange(response, (prefix) => `${prefix}_${++ids}`);
    answer(request, exchange).catch((error: unknown) => {
      const status = error instanceof Refusal ? error.status : 500;
      const message = error instanceof Error ? error.message : String(error);
      // The scripted failures are wanted; everything else tells of a client that sends nonsense.
      if (!(error instanceof ScriptedFailure) && status !== 401) refusals.push(`${request.method} ${request.url}: ${message}`);
      if (response.headersSent) response.destroy();
      else exchange.json(status, errorBody(apiOf(request.url ?? ""), status, message));
    });
  });

  async function answer(request: IncomingMessage, exchange: Exchange): Promise<void> {
    const path = request.url ?? "/";
    const api = apiOf(path);
    const body = await readBody(request);
    const headers = request.headers as Record<string, string>;
    const key = keyOf(headers, path);
    const record = (conversation?: Conversation) => requests.push({ api, path, headers, key, body, ...(conversation ? { conversation } : {}) });
    if (api === "other") {
      record();
      throw new Refusal(`no such address: ${request.method} ${path}`, 404);
    }
    if (!key || key === "bad-key") {
      record();
      throw new Refusal("invalid key", 401);
    }
    if (api === "models") {
      record();
      return exchange.json(200, { object: "list", data: [{ id: "fake-1", object: "model", created: 0, owned_by: "svc" }] });
    }
    refuseUnless(request.method === "POST", `${path} takes POST`);
    refuseUnless(headers["content-type"]?.startsWith("application/json"), "content-type: must be application/json");
    if (api === "messages" || api === "count") refuseUnless(headers["anthropic-version"] === "2023-06-01", "anthropic-version: header is required");
    const conversation = read(api, path, body);
    record(conversation);
    if (path.includes("count")) return exchange.json(200, api === "gemini" ? { totalTokens: tokens(body) } : { input_tokens: tokens(body) });
    const failed = failures.get(conversation.prompt) ?? 0;
    const move = decide(body) ?? nextMove(conversation, failed);
    if (move.kind === "hang" && move.headers) exchange.stream();
    if (move.kind === "fail" || move.kind === "drop") failures.set(conversation.prompt, failed + 1);
    if (api === "messages") return await answerMessages(exchange, body, conversation.model, move, cached);
    if (api === "chat") return await answerChat(exchange, body, conversation.model, move);
    if (api === "responses") return await answerResponses(exchange, body, conversation, conversation.model, move);
    return await answerContents(exchange, body, conversation.model, move, path.includes(":streamGenerateContent"));
  }

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    refusals,
    get open() {
      return open;
    },
    clear() {
      requests.length = refusals.length = 0;
      failures.clear();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const tokens = (body: Fields): number => Math.ceil(JSON.stringify(body).length / 4);

function read(api: Api, path: string, body: Fields): Conversation {
  if (api === "messages" || api === "count") return readMessages(body, api === "count");
  if (api === "chat") return readChat(body);
  if (api === "responses") return readResponses(body);
  const model = decodeURIComponent(/\/models\/([^:/]+):/.exec(path)?.[1] ?? "");
  return readContents(path.includes(":countTokens") ? object(body.generateContentRequest ?? body, "countTokens") : body, model);
}

function apiOf(url: string): Api {
  const path = url.split("?")[0] ?? "";
  if (path.endsWith("/messages")) return "messages";
  if (path.endsWith("/messages/count_tokens")) return "count";
  if (path.endsWith("/chat/completions")) return "chat";
  if (path.endsWith("/responses")) return "responses";
  if (/\/models\/[^/]+:(streamGenerateContent|generateContent|countTokens)$/.test(path)) return "gemini";
  return /\/v1(beta)?\/models$/.test(path) ? "models" : "other";
}

function errorBody(api: Api, status: number, message: string): Fields {
  if (api === "messages" || api === "count") return messagesError(status, message);
  return api === "gemini" ? geminiError(status, message) : openaiError(status, message);
}

function keyOf(headers: Readonly<Record<string, string>>, path: string): string | undefined {
  return (
    headers["x-api-key"] ??
    headers["x-goog-api-key"] ??
    /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1] ??
    new URL(path, "http://127.0.0.1").searchParams.get("key") ??
    undefined
  );
}

async function readBody(request: IncomingMessage): Promise<Fields> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const encoding = request.headers["content-encoding"];
  const bytes = Buffer.concat(parts);
  if (bytes.length === 0) return {};
  const zlib = encoding === undefined ? undefined : await import("node:zlib");
  const plain = encoding === "gzip" ? zlib?.gunzipSync(bytes) : bytes;
  refuseUnless(encoding === undefined || encoding === "gzip", `content-encoding: '${String(encoding)}' is not read here`);
  return object(JSON.parse(String(plain)), "body");
}
