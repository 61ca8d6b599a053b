import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TaskEvent, Tier } from "@svc/sdk";
import { createFakeContext, createMemoryFiles, tierContract } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import layered from "../../plugins/features/context-layered/index.ts";
import { createModels } from "../../plugins/features/models/models.ts";
import sessions from "../../plugins/features/sessions/index.ts";
import orchestrator from "../../plugins/tiers/orchestrator/index.ts";
import sdk from "../../plugins/tiers/sdk/index.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { startModelServer } from "../peers/model-server.ts";
import { APIS, providersOf, server, stage, textsOf } from "./model-tiers.harness.ts";

/** The words of a message, marked for the cache or not. */
const textOf = (content: unknown) => (typeof content === "string" ? content : (content as { text?: string }[]).map(({ text }) => text ?? "").join(""));

/** The real client, on the model server. */
const modelsOn = (url: string) =>
  createModels({
    env: () => undefined,
    fetch: () => Promise.reject(new Error("not for streams")),
    providers: () => ({ anthropic: { apiKey: "k", endpoint: url } }),
    agent: (id) => ({ id, name: id, workspace: "/", tier: "contract", mentions: [], access: "private", settings: {} }),
  });

describe("tier sdk", () => {
  tierContract({ describe, it }, async () => {
    const peer = await startModelServer();
    const ctx = createFakeContext(sdk, { models: modelsOn(peer.url) });
    sdk.setup(ctx);
    return {
      tier: ctx.registered.tiers[0] as Tier,
      works: { prompt: "one two three", answer: "ECHO: one two three" },
      other: { prompt: "four five six", answer: "ECHO: four five six" },
      fails: "FAIL:400",
      endless: "SLOW:600000",
      silent: ["HANG", "MUTE"],
      spends: "SLOW:600000",
      idle: () => peer.open === 0,
      toolless: true,
      dispose: () => peer.close(),
    };
  });
});

describe("tier orchestrator", () => {
  tierContract({ describe, it }, async () => {
    const peer = await startModelServer();
    const add = {
      name: "math.add",
      description: "Adds.",
      input: { type: "object", properties: { a: { type: "number" } } },
      output: { type: "number" },
      timeoutMs: 1_000,
      run: async (input: Record<string, unknown>) => (input.a as number) + 1,
    } as const;
    const ctx = createFakeContext(orchestrator, {
      models: modelsOn(peer.url),
      actions: [add],
      files: createMemoryFiles(),
    });
    orchestrator.setup(ctx);
    const tier = ctx.registered.tiers[0] as Tier;
    return {
      tier,
      agent: { settings: { orchestrator: { actions: ["math.add"] } } },
      works: { prompt: 'CALL:math_add:{"a":41}', answer: "RESULT: 42" },
      other: { prompt: 'CALL:math_add:{"a":6}', answer: "RESULT: 7" },
      fails: "FAIL:400",
      endless: "SLOW:600000",
      silent: ["HANG", "MUTE"],
      spends: 'CALL:math_add:{"a":41} HANG',
      idle: () => peer.open === 0,
      dispose: () => peer.close(),
    };
  });
});

describe.each(["sdk", "orchestrator"])("tier %s", (tier) => {
  describe.each(APIS)("on the %s API", (api) => {
    it("streams an answer in several pieces, with model and the tokens of the turn", async () => {
      const { ask } = await stage(tier, { providers: providersOf(api) });
      const { reply, heard, model, usage, ok } = await ask("one two three four five");
      expect({ ok, reply, model }).toEqual({ ok: true, reply: "ECHO: one two three four five", model: "fake-1" });
      expect(textsOf(heard).length).toBeGreaterThan(1);
      expect(usage?.input).toBeGreaterThan(10);
      expect(usage?.output).toBeGreaterThan(1);
      const [request] = server.requests;
      expect(request).toMatchObject({ key: "a-key", body: { model: "fake-1", stream: true } });
      expect(request?.body.max_tokens).toBe(16_384);
    });

    it("FAULT-73 a wrong key is a typed error that does not show it, and is not tried again", async () => {
      const { ask } = await stage(tier, { providers: providersOf(api, { apiKey: "bad-key" }) });
      const refused = await ask("hello");
      expect(refused).toMatchObject({
        ok: false,
        errorKind: "auth",
        error: "The provider 'mine' refused the API key (status 401); check providers.mine.apiKey.",
      });
      expect(JSON.stringify(refused.trace)).not.toContain("bad-key");
      expect(server.requests).toHaveLength(1);
    });

    it("FAULT-73 a busy model is asked again while nothing of an answer has been said", async () => {
      const { ask } = await stage(tier, { providers: providersOf(api) });
      expect(await ask("FAIL:429:1 hello there")).toMatchObject({ ok: true, reply: "ECHO: FAIL:429:1 hello there" });
      expect(server.requests).toHaveLength(2);
    });

    it("FAULT-73 an answer that is cut in the middle is an error and is not asked for again", async () => {
      const { ask } = await stage(tier, { providers: providersOf(api) });
      const { ok, errorKind, error, heard } = await ask("DROP one two three four");
      expect({ ok, errorKind, error }).toEqual({ ok: false, errorKind: "cut", error: "The answer of the provider 'mine' broke off in the middle; ask again." });
      expect(textsOf(heard)).toEqual(["ECHO: "]);
      expect(server.requests).toHaveLength(1);
    });

    it("ends when it is cancelled, in the middle of an answer and before its first word", async () => {
      const { ask, kernel } = await stage(tier, { providers: providersOf(api) });
      const stop = (event: TaskEvent) => event.type === "text" && void kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
      const midway = await ask("SLOW:200 one two three four five six", {}, undefined, stop);
      expect(midway).toMatchObject({ ok: false, errorKind: "cancelled" });
      expect(textsOf(midway.heard).length).toBeLessThan(6);
      const before = (event: TaskEvent) => event.type === "started" && void setTimeout(() => kernel.tasks.cancel(kernel.tasks.running()[0]!.id), 300);
      expect(await ask("HANG", {}, undefined, before)).toMatchObject({ ok: false, errorKind: "cancelled" });
    });

    it("sends the preamble, the history, the layers and the words, each at its place", async () => {
      const { ask } = await stage(tier, {
        providers: providersOf(api),
        context: {
          system: "You are Ada.",
          layers: [
            { name: "intent", priority: 5, text: "Intent: greet." },
            { name: "channel rules", priority: 1, text: "Be brief." },
          ],
          history: [
            { role: "user", text: "hello" },
            { role: "assistant", text: "good day" },
          ],
        },
      });
      await ask("and now?");
      const { body } = server.requests[0]!;
      const messages = JSON.stringify(body.messages);
      expect(JSON.stringify(api === "anthropic" ? body.system : body.messages)).toContain("You are Ada.");
      expect(messages).toMatch(/"hello".*"good day".*Be brief\.\\n\\nIntent: greet\.\\n\\nand now\?/);
    });

    it("passes a picture on by its bytes, and names what is none", async () => {
      const folder = await temporaryFolder();
      const [picture, text] = [join(folder, "a.png"), join(folder, "b.png")];
      await writeFile(picture, Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"));
      await writeFile(text, "no picture");
      const { ask } = await stage(tier, { providers: providersOf(api) });
      const { reply } = await ask("look", {
        media: [
          { kind: "image", path: picture, type: "image/jpeg" },
          { kind: "image", path: text, name: "b.png" },
        ],
      });
      expect(reply).toContain("Not passed on, because it is no picture of at most 5 MB: b.png");
      expect(JSON.stringify(server.requests[0]!.body.messages)).toContain("iVBORw0KGgo");
    });
  });

  it("RUN-13 without a key the run fails in the specification's words, in the trace and to the sender, before any request", async () => {
    for (const providers of [{ mine: { api: "anthropic" } }, { mine: { apiKey: "", endpoint: server.url } }]) {
      const { ask } = await stage(tier, { providers });
      const { ok, reply, error, errorKind, trace } = await ask("hello");
      expect({ ok, reply, error, errorKind }).toEqual({ ok: false, reply: "", error: "No API key for provider", errorKind: "no-key" });
      expect(trace).toMatchObject({ status: "error", error: "No API key for provider" });
    }
    expect(server.requests).toEqual([]);
  });

  it("FAULT-73 a model that stays overloaded is asked three times, then it is a typed error", async () => {
    const { ask } = await stage(tier);
    expect(await ask("FAIL:529 hello")).toMatchObject({ ok: false, errorKind: "overloaded", error: expect.stringContaining("try again later") });
    expect(server.requests).toHaveLength(3);
  });

  it("CFG-13 reads neither defaultModel nor baseUrl", async () => {
    const providers = providersOf("openai", { defaultModel: "unread", baseUrl: "http://127.0.0.1:9" });
    const { ask } = await stage(tier, { providers });
    await ask("hello");
    expect(server.requests[0]?.body.model).toBe("fake-1");
  });

  it("CTX-09 keeps a history handed to it within 6000 tokens", async () => {
    const history = Array.from({ length: 40 }, (_, n) => ({
      role: n % 2 === 0 ? ("user" as const) : ("assistant" as const),
      text: `${n} `.padEnd(2_000, "x"),
    }));
    const { ask } = await stage(tier, { context: { history } });
    await ask("now");
    expect(server.requests[0]!.body.messages).toHaveLength(11);
    expect(JSON.stringify(server.requests[0]!.body.messages).length).toBeLessThan(6000 * 4 + 2_000);
  });

  it("CTX-09 goes on with what was said before without a session, and rotates none", async () => {
    const { ask, events } = await stage(tier, { config: { session: { maxTurnsPerSession: 2 } }, inline: [sessions, layered] });
    await ask("my number is 42");
    for (const text of ["one", "two", "three"]) await ask(text);
    const messages = server.requests.at(-1)!.body.messages as { role: string }[];
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant", "user"]);
    expect(JSON.stringify(messages)).toContain("my number is 42");
    expect((await ask("four")).trace.sessionId).toBeUndefined();
    expect(events.map(({ type }) => type)).not.toContain("session:rotated");
  });

  it("ENG-16 the turn after a cancelled one knows what was asked and how far the answer had come", async () => {
    const { ask, kernel } = await stage(tier, { inline: [sessions, layered] });
    const stop = (event: TaskEvent) => event.type === "text" && void kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    await ask("SLOW:200 count to twelve one two three four five six seven", {}, undefined, stop);
    await ask(
      "HANG on this",
      {},
      undefined,
      (event) => event.type === "started" && void setTimeout(() => kernel.tasks.cancel(kernel.tasks.running()[0]!.id), 200),
    );
    await ask("go on");
    const messages = JSON.stringify(server.requests.at(-1)!.body.messages);
    expect(messages).toMatch(/"SLOW:200 count to twelve.*"ECHO: [^"]*I was stopped here.*"HANG on this".*I was stopped before I had answered.*go on/);
  });

  it("ENG-15 no layer of an earlier turn is sent again", async () => {
    const one = { workspace: "./w", tier, provider: "mine", model: "fake-1" };
    const agents = { a: { name: "Ada", ...one }, b: { name: "Bob", ...one } };
    const { ask } = await stage(tier, { inline: [sessions, layered], config: { agents } });
    for (const text of ["one", "two", "three"]) await ask(text);
    // The model says back all that it is told: its own words are left out.
    const messages = JSON.stringify((server.requests.at(-1)!.body.messages as { role: string }[]).filter(({ role }) => role === "user"));
    for (const heading of ["## Identity", "## Landscape"]) expect(messages.split(heading)).toHaveLength(2);
  });

  it("ENG-10 the messages of a turn begin with those of the turn before, also when the history is full", async () => {
    const { ask } = await stage(tier, { inline: [sessions, layered] });
    for (let turn = 0; turn < 40; turn += 1) await ask(`${turn} `.padEnd(600, "x"));
    const told = server.requests.map(({ body }) => (body.messages as { content: unknown }[]).map(({ content }) => textOf(content)));
    const moves = told.slice(1).filter((messages, at) => !told[at]!.slice(0, -1).every((text, place) => messages[place] === text)).length;
    expect(moves).toBeGreaterThan(0);
    expect(moves).toBeLessThan(8);
    const marks = server.requests.map(({ body }) =>
      (body.messages as { content: unknown }[]).map(({ content }) => JSON.stringify(content).includes("cache_control")),
    );
    for (const line of marks.slice(1)) expect(line.lastIndexOf(true)).toBe(line.length - 2);
  });

  it("reads the cached part of the prompt apart from the rest", async () => {
    const { ask } = await stage(tier, { context: { system: "You are Ada, and this is long enough to be remembered." } });
    const [first, second] = [(await ask("one")).usage, (await ask("two")).usage];
    expect(first).toMatchObject({ cacheRead: 0, cacheCreate: expect.any(Number) });
    expect(first?.cacheCreate).toBeGreaterThan(0);
    expect(second).toMatchObject({ cacheRead: first?.cacheCreate, cacheCreate: 0 });
  });

  it("takes the model and the limit of the task", async () => {
    const { ask } = await stage(tier);
    await ask("hello", { options: { model: "fake-2", maxOutputTokens: 77 } });
    expect(server.requests[0]?.body).toMatchObject({ model: "fake-2", max_tokens: 77 });
  });

  it("takes a changed provider at the next turn, without being set up again", async () => {
    const providers = providersOf("anthropic");
    const { ask, kernel } = await stage(tier, { providers });
    await ask("hello");
    providers.mine.apiKey = "bad-key";
    expect(await kernel.reload()).toMatchObject({ changed: ["providers.mine.apiKey"], restartRequired: [], failed: [] });
    expect(await ask("hello")).toMatchObject({ ok: false, errorKind: "auth" });
  });

  it("refuses a restricted run, which it cannot enforce", async () => {
    const { ask } = await stage(tier);
    expect(await ask("hello", { options: { autonomy: "report" } })).toMatchObject({ ok: false, errorKind: "SVC_AUTONOMY_UNENFORCED" });
    expect(server.requests).toEqual([]);
  });
});
