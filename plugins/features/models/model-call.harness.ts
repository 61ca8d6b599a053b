import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Agent, ModelCall, ModelEvent, ModelMessage, ModelReply } from "@svc/sdk";
import { afterEach, expect } from "vitest";
import { createModels } from "./models.ts";
import type { Provider } from "./provider-address.ts";

setFlagsFromString("--expose-gc");
export const collectGarbage = runInNewContext("gc") as () => void;
export const KEY = "sk-canary-7e1";
/** Streams ask neither. */
export const UNUSED = { env: () => undefined, fetch: () => Promise.reject(new Error("not for streams")) };

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

interface FarEnd {
  readonly url: string;
  readonly requests: { readonly request: IncomingMessage; readonly body: Record<string, never> & { messages: never[] } }[];
  readonly connections: Set<Socket>;
}

/** A vendor on this machine. */
export async function farEnd(answer: (request: IncomingMessage, response: ServerResponse, nth: number) => void): Promise<FarEnd> {
  const requests: FarEnd["requests"] = [];
  const connections = new Set<Socket>();
  const server: Server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    requests.push({ request, body: JSON.parse(text) });
    answer(request, response, requests.length);
  });
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests, connections };
}

export const APIS = ["anthropic", "openai"] as const;
export type Api = (typeof APIS)[number];

export const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
export const delta = (fields: object, reason: string | null = null) => event({ model: "m-1", choices: [{ index: 0, delta: fields, finish_reason: reason }] });
export const startOf = (usage: object = {}) =>
  event({ type: "message_start", message: { model: "m-1", usage: { input_tokens: 7, output_tokens: 1, ...usage } } });
/** The pieces of an answer in each dialect. */
export const WORDS: Record<Api, { start: string; text: (text: string) => string; end: string }> = {
  anthropic: {
    start: startOf() + event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    text: (text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
    end: event({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } }) + event({ type: "message_stop" }),
  },
  openai: {
    start: delta({ role: "assistant", content: "" }),
    text: (content) => delta({ content }),
    end: `${delta({}, "stop")}${event({ choices: [], usage: { prompt_tokens: 7, completion_tokens: 5 } })}data: [DONE]\n\n`,
  },
};
export const whole = (api: Api, text = "good day") => WORDS[api].start + WORDS[api].text(text) + WORDS[api].end;
export const says = (...pieces: string[]): RequestListener => {
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) response.write(piece);
    response.end();
  };
};
export const refuses =
  (status: number, body: object | string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

export function models(url: string, api: Api, more: Provider = {}) {
  const agent = { id: "ada", name: "Ada", workspace: "/w", tier: "sdk", model: "m", mentions: [], access: "private", settings: { provider: "near" } } as const;
  const providers = { near: { api, endpoint: url, apiKey: KEY, ...more } };
  const made = createModels({ ...UNUSED, providers: () => providers, agent: (id): Agent | undefined => (id === agent.id ? agent : undefined) });
  closers.push(() => made.close());
  return made;
}

export async function collect(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const one of stream) events.push(one);
  expect(JSON.stringify(events)).not.toContain(KEY);
  return events;
}
export const hello: ModelMessage = { role: "user", text: "hello" };
export const ask = (made: ReturnType<typeof models>, call: Partial<ModelCall> = {}) => collect(made.stream({ agent: "ada", messages: [hello], ...call }));
export const told = (events: readonly ModelEvent[]) => events.map((one) => (one.type === "text" ? one.text : one.type));
export const replyOf = (events: readonly ModelEvent[]) => (events.at(-1) as { reply: ModelReply }).reply;
