import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Provider, Tier, TierEvent, Turn, TurnContext } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "./index.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A model API on this machine; `url` is its endpoint. */
async function api(answer: RequestListener): Promise<{ url: string; requests: IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    request.resume().on("end", () => answer(request, response));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests };
}

const piece = (delta: object, reason: string | null = null) =>
  `data: ${JSON.stringify({ id: "c", created: 1, model: "m-1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`;
const says =
  (...pieces: string[]): RequestListener =>
  (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const part of pieces) response.write(part);
    response.end();
  };

function setUp(providers: Record<string, Provider>) {
  const ctx = createFakeContext(plugin, { config: providers });
  const lifecycle = plugin.setup(ctx);
  const tier = ctx.registered.tiers[0] as Tier;
  const ask = async (context: Partial<TurnContext> = {}, signal = new AbortController().signal): Promise<TierEvent[]> => {
    const agent = { id: "ada", model: "m", settings: { provider: "near" } };
    const events: TierEvent[] = [];
    const whole = { system: "", layers: [], prompt: "hello", media: [], history: [], ...context };
    for await (const event of tier.run({ id: "task_1", agent, messages: [{}] } as unknown as Turn, whole, signal)) events.push(event);
    return events;
  };
  return { tier, ask, lifecycle };
}

describe("tier sdk", () => {
  it("asks a server on this machine without a key", async () => {
    const { url, requests } = await api(says(piece({ content: "good " }), piece({ content: "day" }), piece({}, "stop"), "data: [DONE]\n\n"));
    const { ask } = setUp({ near: { endpoint: url } });
    const events = await ask();
    expect(events.map((event) => (event.type === "text" ? event.text : event.type))).toEqual(["good ", "day", "usage", "done"]);
    expect(requests[0]).toMatchObject({ method: "POST", url: "/v1/chat/completions" });
    expect(requests[0]?.headers.authorization).toBeUndefined();
  });

  it("does not follow a redirect: the key stays with the configured address", async () => {
    const elsewhere = await api(says(piece({ content: "stolen" }), piece({}, "stop")));
    const { url } = await api((_, response) => response.writeHead(307, { location: `${elsewhere.url}/chat/completions` }).end());
    const { ask } = setUp({ near: { endpoint: url, apiKey: "sk-secret" } });
    const events = await ask();
    expect(events).toMatchObject([{ type: "error", kind: "network" }]);
    expect(JSON.stringify(events)).not.toContain("sk-secret");
    expect(elsewhere.requests).toEqual([]);
  });

  it("FAULT-73 takes an end without the API's word for it as cut, and asks again only before the first word", async () => {
    let asked = 0;
    const { url } = await api((request, response) => {
      asked += 1;
      const midway = says(piece({ content: "half an ans" }));
      const whole = says(piece({ content: "whole" }), piece({}, "stop"));
      return (asked === 1 ? says(piece({ role: "assistant", content: "" })) : asked === 2 ? whole : midway)(request, response);
    });
    const { ask } = setUp({ near: { endpoint: url } });
    expect((await ask()).at(-1)).toEqual({ type: "done" });
    expect(asked).toBe(2);
    expect(await ask()).toMatchObject([
      { type: "text", text: "half an ans" },
      { type: "error", kind: "cut" },
    ]);
    expect(asked).toBe(3);
  });

  it("FAULT-73 does so on the Anthropic API too, where a stream may simply end", async () => {
    const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
    const message = { id: "m", type: "message", role: "assistant", model: "m-1", content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
    const { url, requests } = await api(
      says(
        event("message_start", { message }),
        event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
        event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "half an ans" } }),
      ),
    );
    expect(await setUp({ near: { api: "anthropic", endpoint: url } }).ask()).toMatchObject([
      { type: "text", text: "half an ans" },
      { type: "error", kind: "cut" },
    ]);
    expect(requests).toHaveLength(1);
  });

  it("FAULT-73 waits as long as the API asks for", async () => {
    let asked = 0;
    const { url } = await api((request, response) => {
      asked += 1;
      if (asked > 1) return says(piece({ content: "at last" }), piece({}, "stop"))(request, response);
      response.writeHead(429, { "retry-after": "0", "content-type": "application/json" }).end('{"error":{"message":"slow down"}}');
    });
    expect((await setUp({ near: { endpoint: url } }).ask()).at(-1)).toEqual({ type: "done" });
    const impatient = await api(
      (_, response) => void response.writeHead(429, { "retry-after": "3600", "content-type": "application/json" }).end('{"error":{"message":"slow down"}}'),
    );
    expect(await setUp({ near: { endpoint: impatient.url } }).ask()).toMatchObject([
      { type: "error", kind: "rate-limit", message: expect.stringContaining("slow down") },
    ]);
    expect(impatient.requests).toHaveLength(1);
  });

  it("calls an answer without a word an error", async () => {
    const { url } = await api(says(piece({}, "content_filter")));
    expect((await setUp({ near: { endpoint: url } }).ask()).at(-1)).toMatchObject({
      type: "error",
      kind: "no-answer",
      message: expect.stringContaining("content_filter"),
    });
  });

  it("lets go of the connection when its reader goes away", async () => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const { url } = await api((_, response) => {
      response.on("close", closed);
      response.writeHead(200, { "content-type": "text/event-stream" }).write(piece({ content: "and so on" }));
    });
    const { tier } = setUp({ near: { endpoint: url } });
    const turn = { id: "task_1", agent: { id: "ada", model: "m", settings: { provider: "near" } }, messages: [{}] } as unknown as Turn;
    for await (const _ of tier.run(turn, { system: "", layers: [], prompt: "hello", media: [], history: [] }, new AbortController().signal)) break;
    await gone;
  });

  it("RUN-13 says that there is no key, and learns of one without being set up again", async () => {
    const { ask, tier, lifecycle } = setUp({ near: { endpoint: "https://models.example" } });
    expect(await ask()).toEqual([{ type: "error", kind: "no-key", message: "No API key for provider" }]);
    expect(await tier.probe?.()).toMatchObject({ ok: false });
    const { url } = await api(says(piece({ content: "yes" }), piece({}, "stop")));
    await lifecycle?.reload?.({ near: { endpoint: url, apiKey: "k" } });
    expect((await ask()).at(-1)).toEqual({ type: "done" });
    expect(await tier.probe?.()).toEqual({ ok: true, detail: "providers: near" });
  });
});
