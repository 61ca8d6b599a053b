import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Agent, ModelCall, ModelEvent, ModelMessage, ModelReply } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { createModels } from "./models.ts";
import type { Provider } from "./provider-address.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
const KEY = "sk-canary-7e1";
/** Streams ask neither. */
const UNUSED = { env: () => undefined, fetch: () => Promise.reject(new Error("not for streams")) };

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
async function farEnd(answer: (request: IncomingMessage, response: ServerResponse, nth: number) => void): Promise<FarEnd> {
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

const APIS = ["anthropic", "openai"] as const;
type Api = (typeof APIS)[number];

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const delta = (fields: object, reason: string | null = null) => event({ model: "m-1", choices: [{ index: 0, delta: fields, finish_reason: reason }] });
const startOf = (usage: object = {}) => event({ type: "message_start", message: { model: "m-1", usage: { input_tokens: 7, output_tokens: 1, ...usage } } });
/** The pieces of an answer in each dialect. */
const WORDS: Record<Api, { start: string; text: (text: string) => string; end: string }> = {
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
const whole = (api: Api, text = "good day") => WORDS[api].start + WORDS[api].text(text) + WORDS[api].end;
const says = (...pieces: string[]): RequestListener => {
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const piece of pieces) response.write(piece);
    response.end();
  };
};
const refuses =
  (status: number, body: object | string, headers: Record<string, string> = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));

function models(url: string, api: Api, more: Provider = {}) {
  const agent = { id: "ada", name: "Ada", workspace: "/w", tier: "sdk", model: "m", mentions: [], access: "private", settings: { provider: "near" } } as const;
  const providers = { near: { api, endpoint: url, apiKey: KEY, ...more } };
  const made = createModels({ ...UNUSED, providers: () => providers, agent: (id): Agent | undefined => (id === agent.id ? agent : undefined) });
  closers.push(() => made.close());
  return made;
}

async function collect(stream: AsyncIterable<ModelEvent>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const one of stream) events.push(one);
  expect(JSON.stringify(events)).not.toContain(KEY);
  return events;
}
const hello: ModelMessage = { role: "user", text: "hello" };
const ask = (made: ReturnType<typeof models>, call: Partial<ModelCall> = {}) => collect(made.stream({ agent: "ada", messages: [hello], ...call }));
const told = (events: readonly ModelEvent[]) => events.map((one) => (one.type === "text" ? one.text : one.type));
const replyOf = (events: readonly ModelEvent[]) => (events.at(-1) as { reply: ModelReply }).reply;

describe.each(APIS)("a call on the %s API", (api) => {
  const { start, text, end } = WORDS[api];

  it("ENG-3 streams the words, tells the tokens, and ends with the answer", async () => {
    const far = await farEnd(says(start, text("good "), text("day"), end));
    const events = await ask(models(far.url, api), { system: "Be kind." });
    expect(told(events)).toEqual(["good ", "day", "usage", "end"]);
    expect(events.at(-2)).toMatchObject({ model: "m-1", usage: { input: 7, output: 5, cacheRead: 0 } });
    expect(replyOf(events)).toMatchObject({ role: "assistant", text: "good day" });
    const { headers, url } = far.requests[0]!.request;
    expect(headers).toMatchObject({ "accept-encoding": "identity", "content-length": expect.stringMatching(/^\d+$/) });
    expect(headers["transfer-encoding"]).toBeUndefined();
    expect(url).toBe(api === "anthropic" ? "/v1/messages" : "/v1/chat/completions");
    expect(api === "anthropic" ? headers["x-api-key"] : headers.authorization).toBe(api === "anthropic" ? KEY : `Bearer ${KEY}`);
  });

  describe("ENG-3 an abort after six collections of garbage ends the call and closes the connection", () => {
    const states: readonly [string, RequestListener][] = [
      ["no headers yet", () => undefined],
      ["headers, then silence", (_, response) => void response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders()],
      [
        "a flowing stream",
        (_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" }).write(start);
          const timer = setInterval(() => response.write(text("and so on ")), 5);
          response.on("close", () => clearInterval(timer));
        },
      ],
    ];
    it.each(states)("%s", async (_, answer) => {
      const far = await farEnd(answer);
      const abort = new AbortController();
      const events: ModelEvent[] = [];
      const run = (async () => {
        for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello], signal: abort.signal })) events.push(one);
      })();
      await expect.poll(() => far.requests.length).toBe(1);
      for (let round = 0; round < 6; round += 1) {
        await sleep(10);
        collectGarbage();
      }
      abort.abort();
      await run;
      await expect.poll(() => far.connections.size).toBe(0);
      expect(events.map(({ type }) => type).filter((type) => type === "end" || type === "error")).toEqual([]);
    });
  });

  it("ENG-3 closes the connection when its reader goes away", async () => {
    const far = await farEnd((_, response) => void response.writeHead(200).write(start + text("and so on")));
    for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello] })) if (one.type === "text") break;
    await expect.poll(() => far.connections.size).toBe(0);
  });

  it("ENG-3 keeps the connection for the next call", async () => {
    const far = await farEnd(says(whole(api)));
    const made = models(far.url, api);
    for (let call = 0; call < 3; call += 1) expect(told(await ask(made)).at(-1)).toBe("end");
    expect(new Set(far.requests.map(({ request }) => request.socket.remotePort)).size).toBe(1);
  });

  it("ENG-3 asks once more when a kept connection was closed before the first byte, and not when a new one is", async () => {
    const far = await farEnd((request, response, nth) => (nth === 2 ? void request.socket.resetAndDestroy() : says(whole(api))(request, response)));
    const made = models(far.url, api);
    await ask(made);
    const second = await ask(made);
    expect(told(second)).toEqual(["good day", "usage", "end"]);
    expect(far.requests).toHaveLength(3);
    const shut = await farEnd((request, response, nth) => (nth === 1 ? void request.socket.resetAndDestroy() : says(whole(api))(request, response)));
    expect((await ask(models(shut.url, api)))[0]).toMatchObject({ type: "waiting", reason: expect.stringContaining("could not be reached") });
  });

  it("ENG-3 takes an end without the API's word for it as cut, and asks again only before the first word", async () => {
    const far = await farEnd((request, response, nth) =>
      (nth === 1 ? says(start) : nth === 2 ? says(whole(api)) : says(start, text("half an ans")))(request, response),
    );
    const made = models(far.url, api);
    expect(told(await ask(made)).at(-1)).toBe("end");
    expect(far.requests).toHaveLength(2);
    const cut = await ask(made);
    expect(cut.filter(({ type }) => type !== "usage")).toMatchObject([{ text: "half an ans" }, { type: "error", kind: "cut" }]);
    expect(far.requests).toHaveLength(3);
  });

  it("ENG-3 what comes after the vendor's last word is no loss", async () => {
    const stop = api === "anthropic" ? end : delta({}, "stop");
    const far = await farEnd((request, response) => {
      response.writeHead(200).write(start + text("all of it") + stop);
      setTimeout(() => request.socket.destroy(), 20);
    });
    expect(told(await ask(models(far.url, api))).at(-1)).toBe("end");
  });

  it("ENG-3 broken JSON is an error event, after the words that came before it", async () => {
    const far = await farEnd(says(start, text("so far"), 'data: {"type": "content_bl\n\n', end));
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type !== "usage")).toMatchObject([{ text: "so far" }, { type: "error", kind: "protocol" }]);
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-3 does not follow a redirect: the key stays with the configured address", async () => {
    const elsewhere = await farEnd(says(whole(api, "stolen")));
    const far = await farEnd(refuses(307, "", { location: `${elsewhere.url}/messages` }));
    expect(await ask(models(far.url, api))).toMatchObject([{ type: "error", kind: "request", message: expect.stringContaining("providers.near.endpoint") }]);
    expect(elsewhere.requests).toEqual([]);
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-3 reads the first 64 KB of a refusal and lets the rest be", async () => {
    const far = await farEnd((_, response) => {
      response.writeHead(400, { "content-type": "application/json" });
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    });
    expect(await ask(models(far.url, api))).toMatchObject([{ type: "error", kind: "request" }]);
    await expect.poll(() => far.connections.size, { timeout: 5_000 }).toBe(0);
  });

  it("ENG-3 takes characters that are cut in the middle, lines that end in CR LF, and comments", async () => {
    const bytes = Buffer.from(`: welcome\r\n\r\n${whole(api, "grüße 👍").replaceAll("\n", "\r\n")}`);
    const far = await farEnd(async (_, response) => {
      response.writeHead(200);
      for (const byte of bytes) response.write(Buffer.of(byte));
      response.end();
    });
    expect(replyOf(await ask(models(far.url, api))).text).toBe("grüße 👍");
  });

  it("ENG-12 waits as long as the API asks for, once, and tells that it waits", async () => {
    const far = await farEnd((request, response, nth) =>
      (nth < 3 ? refuses(429, { error: { message: "slow down" } }, { "retry-after": "0.05" }) : says(whole(api)))(request, response),
    );
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type === "waiting")).toMatchObject([{ retryAfterMs: 50 }, { retryAfterMs: 50 }]);
    expect(told(events).at(-1)).toBe("end");
    const impatient = await farEnd(refuses(429, { error: { message: "slow down" } }, { "retry-after": "61" }));
    expect(await ask(models(impatient.url, api))).toMatchObject([
      { type: "error", kind: "rate-limit", message: expect.stringContaining("slow down"), retryAfterMs: 61_000 },
    ]);
    expect(impatient.requests).toHaveLength(1);
  });

  it("ENG-12 an abort ends the wait for another try", async () => {
    const far = await farEnd(refuses(503, {}, { "retry-after": "30" }));
    const abort = new AbortController();
    const events: ModelEvent[] = [];
    for await (const one of models(far.url, api).stream({ agent: "ada", messages: [hello], signal: abort.signal })) {
      events.push(one);
      abort.abort();
    }
    expect(told(events)).toEqual(["waiting"]);
  });

  it.each([
    [401, { error: { message: `wrong key ${KEY}` } }, "auth"],
    [402, { error: { message: "no credit" } }, "billing"],
    [429, { error: { code: "insufficient_quota", message: "no credit" } }, "billing"],
    [400, { error: { message: "unknown field" } }, "request"],
    [404, { error: { message: "no such model" } }, "request"],
    [400, { error: { message: "prompt is too long: 210000 tokens > 200000 maximum" } }, "context"],
    [400, { error: { code: "context_length_exceeded", message: "This model's maximum context length is 8192 tokens." } }, "context"],
    [413, "<html>too large</html>", "context"],
  ])("ENG-13 calls status %i with %j by its kind, and asks once", async (status, body, kind) => {
    const far = await farEnd(refuses(status as number, body as object));
    const events = await ask(models(far.url, api));
    expect(events).toMatchObject([{ type: "error", kind }]);
    expect(JSON.stringify(events)).not.toContain("<html>");
    expect(far.requests).toHaveLength(1);
  });

  it("ENG-13 an error inside of the stream is told by its kind before the first word, and as cut after it", async () => {
    const error = { type: "overloaded_error", code: "overloaded_error", message: "Overloaded" };
    const inside = api === "anthropic" ? event({ type: "error", error }) : event({ error });
    const far = await farEnd((request, response, nth) => says(...(nth === 1 ? [start, inside] : [start, text("half"), inside]))(request, response));
    const events = await ask(models(far.url, api));
    expect(events.filter(({ type }) => type !== "usage")).toMatchObject([
      { type: "waiting", reason: expect.stringContaining("Overloaded") },
      { text: "half" },
      { type: "error", kind: "cut", message: expect.stringContaining("Overloaded") },
    ]);
  });
});

describe("what the dialects carry", () => {
  const tools = [{ name: "add", description: "Adds.", input: { type: "object" as const } }];

  it("ENG-3 Anthropic: thinking with its signature, redacted thoughts and calls go back whole, in the order of the calls", async () => {
    const blocks = [
      event({ type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } }),
      event({ type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Weighing." } }),
      event({ type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: "c2ln" } }),
      event({ type: "content_block_start", index: 1, content_block: { type: "redacted_thinking", data: "b3BhcXVl" } }),
      event({ type: "content_block_start", index: 2, content_block: { type: "tool_use", id: "t1", name: "add", input: {} } }),
      event({ type: "content_block_start", index: 3, content_block: { type: "tool_use", id: "t2", name: "add", input: {} } }),
      event({ type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: '{"a":' } }),
      event({ type: "content_block_delta", index: 2, delta: { type: "input_json_delta", partial_json: "{broken" } }),
      event({ type: "content_block_delta", index: 3, delta: { type: "input_json_delta", partial_json: "2}" } }),
      event({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 9 } }),
      event({ type: "message_stop" }),
    ];
    const far = await farEnd((request, response, nth) =>
      says(...(nth === 1 ? [startOf({ cache_read_input_tokens: 3, cache_creation_input_tokens: 2 }), ...blocks] : [whole("anthropic")]))(request, response),
    );
    const made = models(far.url, "anthropic", { thinking: true });
    const first = await ask(made, { tools, maxOutputTokens: 100 });
    expect(told(first)).toEqual(["thinking", "usage", "end"]);
    expect(first[1]).toMatchObject({ usage: { input: 7, output: 9, cacheRead: 3, cacheCreate: 2 } });
    const reply = replyOf(first);
    expect(reply.calls).toEqual([
      { id: "t1", name: "add" },
      { id: "t2", name: "add", input: { a: 2 } },
    ]);
    const results = [
      { id: "t1", name: "add", text: "no JSON", failed: true },
      { id: "t2", name: "add", text: "" },
    ];
    await ask(made, { tools, messages: [hello, reply, { role: "tool", results, cache: true }] });
    expect(far.requests[0]!.body).toMatchObject({
      thinking: { type: "enabled", budget_tokens: 4096 },
      max_tokens: 4196,
      tools: [{ name: "add", input_schema: { type: "object" } }],
    });
    expect(far.requests[1]!.body.messages).toEqual([
      { role: "user", content: "hello" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Weighing.", signature: "c2ln" },
          { type: "redacted_thinking", data: "b3BhcXVl" },
          { type: "tool_use", id: "t1", name: "add", input: {} },
          { type: "tool_use", id: "t2", name: "add", input: { a: 2 } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "t1", content: "no JSON", is_error: true },
          { type: "tool_result", tool_use_id: "t2", content: "(nothing)", cache_control: { type: "ephemeral" } },
        ],
      },
    ]);
  });

  it("ENG-3 OpenAI: calls by index or in order, thoughts under either name, cached tokens and cost", async () => {
    const pieces = [
      delta({ reasoning: "Weighing." }),
      delta({ tool_calls: [{ index: 1, id: "c2", function: { name: "add", arguments: '{"a":' } }] }),
      delta({ tool_calls: [{ index: 0, id: "c1", function: { name: "add", arguments: "" } }] }),
      delta({ tool_calls: [{ index: 1, function: { arguments: "2}" } }] }),
      delta({}, "tool_calls"),
      event({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 4 }, cost: 0.002 } }),
    ];
    const ordered = [
      delta({ tool_calls: [{ id: "d1", function: { name: "add", arguments: "{}" } }] }),
      delta({ tool_calls: [{ id: "d2", function: { name: "add", arguments: '{"a"' } }] }),
      delta({ tool_calls: [{ function: { arguments: ":1}" } }] }),
      delta({}, "tool_calls"),
    ];
    const far = await farEnd((request, response, nth) => says(...(nth === 1 ? pieces : ordered))(request, response));
    const made = models(far.url, "openai", { thinking: true });
    const first = await ask(made, { tools });
    expect(told(first)).toEqual(["thinking", "usage", "end"]);
    expect(first[1]).toMatchObject({ usage: { input: 6, output: 3, cacheRead: 4, cost: 0.002 } });
    const reply = replyOf(first);
    expect(new Map(reply.calls?.map(({ id, input }) => [id, input]))).toEqual(
      new Map([
        ["c1", {}],
        ["c2", { a: 2 }],
      ]),
    );
    const results = [
      { id: "c1", name: "add", text: "1" },
      { id: "c2", name: "add", text: "2" },
    ];
    const second = await ask(made, { tools, system: "s", messages: [hello, reply, { role: "tool", results }] });
    expect(replyOf(second).calls).toEqual([
      { id: "d1", name: "add", input: {} },
      { id: "d2", name: "add", input: { a: 1 } },
    ]);
    expect(far.requests[1]!.body.messages).toMatchObject([
      { role: "system" },
      { role: "user" },
      { role: "assistant", content: null, reasoning: "Weighing.", tool_calls: [{ id: expect.any(String) }, { id: expect.any(String) }] },
      { role: "tool", tool_call_id: "c1", content: "1" },
      { role: "tool", tool_call_id: "c2", content: "2" },
    ]);
  });

  it("ENG-10 marks at most two places of the conversation, and the system prompt", async () => {
    const far = await farEnd(says(whole("anthropic")));
    const marked = (text: string): ModelMessage => ({ role: "user", text, cache: true });
    await ask(models(far.url, "anthropic"), { system: "s", messages: [marked("a"), marked("b"), hello, marked("c"), hello] });
    const { body } = far.requests[0]!;
    expect(JSON.stringify(body.messages).match(/"text":"."|cache_control/g)).toEqual(['"text":"b"', "cache_control", '"text":"c"', "cache_control"]);
    expect(JSON.stringify(body)).toContain('"system":[{"type":"text","text":"s","cache_control"');
  });

  it("ENG-11 a call that is ended tells what the vendor had counted by then", async () => {
    const far = await farEnd((_, response) => void response.writeHead(200).write(WORDS.anthropic.start + WORDS.anthropic.text("half")));
    const abort = new AbortController();
    const events: ModelEvent[] = [];
    for await (const one of models(far.url, "anthropic").stream({ agent: "ada", messages: [hello], signal: abort.signal })) {
      events.push(one);
      abort.abort();
    }
    expect(events).toMatchObject([{ text: "half" }, { type: "usage", usage: { input: 7, output: 1 } }]);
  });
});

describe("which model", () => {
  const agent = (settings: object, model?: string): Agent => ({
    id: "ada",
    name: "Ada",
    workspace: "/w",
    tier: "sdk",
    mentions: [],
    access: "private",
    settings: settings as Agent["settings"],
    ...(model === undefined ? {} : { model }),
  });
  const of = (providers: Record<string, Provider>, settings: object, model?: string) =>
    createModels({ ...UNUSED, providers: () => providers, agent: () => agent(settings, model) });

  it.each<[string, Record<string, Provider>, object, string | undefined, string, string]>([
    ["no entry", {}, {}, undefined, "No API key for provider", "providers.anthropic.apiKey"],
    ["an empty key", { mine: { apiKey: "", endpoint: "http://127.0.0.1:1" } }, { provider: "mine" }, "m", "No API key for provider", "providers.mine.apiKey"],
    [
      "a far address without a key",
      { mine: { endpoint: "https://models.example" } },
      { provider: "mine" },
      "m",
      "No API key for provider",
      "providers.mine.apiKey",
    ],
    [
      "baseUrl in place of endpoint",
      { mine: { apiKey: "k", baseUrl: "http://127.0.0.1:1" } },
      { provider: "mine" },
      "m",
      "baseUrl is not read",
      "providers.mine.endpoint",
    ],
    ["no model", { openai: { apiKey: "k" } }, { provider: "openai" }, undefined, "no default model", "agents.ada.model"],
  ])("OPR-M5 judges the provider of the agent, in the words that its run fails with: %s", async (_, providers, settings, model, words, setting) => {
    const made = of(providers, settings, model);
    const { ok, detail } = await made.usable("ada");
    expect(ok).toBe(false);
    expect(detail).toContain(words);
    expect(detail).toContain(setting);
    const [failure] = await collect(made.stream({ agent: "ada", messages: [hello] }));
    expect(failure).toMatchObject({ type: "error", message: expect.stringContaining(words) });
  });

  it("OPR-M5 an agent is usable although another provider of the configuration is not", async () => {
    const providers = { anthropic: {}, ollama: {} };
    expect(await of(providers, { provider: "ollama" }, "qwen").usable("ada")).toEqual({ ok: true, detail: "provider ollama, model qwen" });
    expect(await of(providers, {}).usable("ada")).toMatchObject({ ok: false });
  });

  it("an agent that is not there is a failure, not an exception", async () => {
    const made = createModels({ ...UNUSED, providers: () => ({}), agent: () => undefined });
    expect(await collect(made.stream({ agent: "bob", messages: [hello] }))).toMatchObject([{ type: "error", message: expect.stringContaining("bob") }]);
  });
});
