import type { Agent, ModelEvent, ModelMessage } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { ask, collect, delta, event, farEnd, hello, models, replyOf, says, startOf, told, UNUSED, WORDS, whole } from "./model-call.harness.ts";
import { createModels } from "./models.ts";
import type { Provider } from "./provider-address.ts";

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
