import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Envelope, type Message, type Plugin, type TaskEvent, type TaskResult, type Trace, type TurnContext } from "@svc/sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import layered from "../../plugins/features/context-layered/index.ts";
import sessions from "../../plugins/features/sessions/index.ts";
import orchestrator from "../../plugins/tiers/orchestrator/index.ts";
import sdk from "../../plugins/tiers/sdk/index.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { type ModelServer, startModelServer } from "../peers/model-server.ts";

const MCP = fileURLToPath(new URL("fixtures/tool-server.mjs", import.meta.url));
let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  expect(server.refusals, "requests that the real API would refuse").toEqual([]);
  await server.close();
});

const APIS = ["anthropic", "openai"] as const;
const providersOf = (api: (typeof APIS)[number], more: object = {}) => ({ mine: { api, endpoint: server.url, apiKey: "a-key", ...more } });

/** Adds what the context features would add, and an action that the test looks into. */
function surroundings(context: Partial<TurnContext>): { plugin: Plugin; calls: { input: unknown; call: object }[] } {
  const calls: { input: unknown; call: object }[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "surroundings",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      ctx.hooks.assembleContext.tap((built) => ({ ...built, ...context }));
      for (const name of ["math.add", "secret.read"])
        ctx.provide.action({
          name,
          description: "Adds.",
          input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"], additionalProperties: false },
          output: { type: "number" },
          timeoutMs: 5_000,
          async run(input, { signal, ...call }) {
            calls.push({ input, call });
            if (input.a === 404) throw new Error("no such number");
            return (input.a as number) + (input.b as number);
          },
        });
    },
  });
  return { plugin, calls };
}

interface Stage {
  readonly kernel: Kernel;
  readonly events: readonly Envelope[];
  readonly calls: { input: unknown; call: object }[];
  ask(
    text: string,
    extra?: Partial<Message>,
    signal?: AbortSignal,
    listen?: (event: TaskEvent) => void,
  ): Promise<TaskResult & { heard: TaskEvent[]; trace: Trace }>;
}

interface StageOptions {
  readonly providers?: object;
  readonly agent?: object;
  readonly context?: Partial<TurnContext>;
  readonly config?: object;
  readonly inline?: readonly unknown[];
}

async function stage(tier: string, options: StageOptions = {}): Promise<Stage> {
  const { plugin, calls } = surroundings(options.context ?? {});
  const folder = await temporaryFolder();
  const { kernel, message, events } = await runKernel({
    folder,
    dataFolder: join(folder, ".svc"),
    agent: { tier, provider: "mine", model: "fake-1", ...options.agent },
    config: { providers: options.providers ?? providersOf("anthropic"), ...options.config },
    inline: [sdk, orchestrator, plugin, ...(options.inline ?? [])] as unknown as Plugin<never>[],
    env: { PATH: process.env.PATH ?? "" },
  });
  return {
    kernel,
    calls,
    events,
    async ask(text, extra = {}, signal, listen) {
      const heard: TaskEvent[] = [];
      const result = await kernel.tasks.run(
        message(text, extra),
        (event) => {
          heard.push(event);
          listen?.(event);
        },
        signal,
      );
      return { ...result, heard, trace: (await kernel.traces.get(result.taskId)) as Trace };
    },
  };
}

const textsOf = (heard: readonly TaskEvent[]) => heard.flatMap((event) => (event.type === "text" ? [event.text] : []));
const stepsOf = (trace: Trace) => trace.steps.filter(({ kind }) => kind === "tool");

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
    expect(server.requests[0]!.body.messages).toHaveLength(13);
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

describe.each(APIS)("the tool loop on the %s API", (api) => {
  const loop = (agent: object = {}, more: object = {}) =>
    stage("orchestrator", {
      providers: providersOf(api, more),
      agent: { orchestrator: { actions: ["math.*"], ...(agent as { orchestrator?: object }).orchestrator }, ...without(agent) },
    });
  const without = ({ orchestrator: _, ...rest }: { orchestrator?: object }) => rest;

  it("runs calls side by side, answers the model in order, and tells each as a step", async () => {
    const { ask, calls } = await loop();
    const { reply, trace, usage, taskId } = await ask('CALL:math_add:{"a":1,"b":2} CALL:math_add:{"a":20,"b":22} TOGETHER', { options: { chain: ["bob"] } });
    expect(reply).toBe("RESULT: 42");
    expect(calls.map(({ input }) => input)).toEqual([
      { a: 1, b: 2 },
      { a: 20, b: 22 },
    ]);
    expect(calls[0]?.call).toEqual({ door: "agent", agent: "a", taskId, chain: ["bob"] });
    expect(server.requests.at(-1)?.conversation?.results).toEqual(["3", "42"]);
    expect(stepsOf(trace)).toMatchObject([
      { name: "math.add", input: "a: 1, b: 2", output: "3", durationMs: expect.any(Number) },
      { name: "math.add", input: "a: 20, b: 22", output: "42" },
    ]);
    const alone = await ask("hello");
    expect(usage?.input).toBeGreaterThan((alone.usage?.input ?? 0) * 1.5);
  });

  it("goes on over several steps, and gives a failure back to the model", async () => {
    const { ask } = await loop();
    const { reply, trace } = await ask('CALL:math_add:{"a":404,"b":2} CALL:math_add:{"a":"x"} CALL:math_add:{"a":1,"b":1}');
    expect(reply).toBe("RESULT: 2");
    expect(stepsOf(trace).map(({ error, output }) => error ?? output)).toEqual(["no such number", expect.stringContaining("Action math.add"), "2"]);
    expect(server.requests).toHaveLength(4);
  });

  it("offers only the actions that the agent may use, by default none, and runs no other", async () => {
    const { ask, calls } = await loop();
    const { ok, trace } = await ask('CALL:secret_read:{"a":1,"b":2}');
    expect(ok).toBe(true);
    expect(server.requests[0]?.conversation?.tools).toEqual(["math_add"]);
    expect(stepsOf(trace)).toMatchObject([{ name: "secret_read", error: expect.stringContaining("secret_read") }]);
    expect(calls).toEqual([]);
    const closed = await loop({ orchestrator: { actions: [] } });
    await closed.ask("hello");
    expect(server.requests.at(-1)?.conversation?.tools).toEqual([]);
    const planning = await loop({ permissionMode: "plan" });
    await planning.ask("hello");
    expect(server.requests.at(-1)?.conversation?.tools).toEqual([]);
  });

  it("ends at its step limit with an error that names the setting", async () => {
    const { ask, calls } = await loop({ orchestrator: { actions: ["*"], maxSteps: 2 } });
    const { ok, errorKind, error, usage } = await ask(Array.from({ length: 5 }, () => 'CALL:math_add:{"a":1,"b":2}').join(" "));
    expect({ ok, errorKind }).toEqual({ ok: false, errorKind: "step-limit" });
    expect(error).toContain("agents.a.orchestrator.maxSteps");
    expect(server.requests).toHaveLength(2);
    expect(calls).toHaveLength(1);
    expect(usage?.input).toBeGreaterThan(0);
  });

  it("toolUseRequired knows the actions by their names", async () => {
    const { ask } = await loop({ toolUseRequired: ["math.add"] });
    expect(await ask("hello")).toMatchObject({ ok: false, errorKind: "tool_required_not_called" });
    expect(await ask('CALL:math_add:{"a":1,"b":2}')).toMatchObject({ ok: true });
  });

  it("tells what the model thinks where the provider is set to it, also across tool calls", async () => {
    const thoughts = (heard: TaskEvent[]) => heard.flatMap((event) => (event.type === "thinking" ? [event.text] : []));
    const open = await loop({}, { thinking: true });
    const { heard, reply, ok } = await open.ask('THINK CALL:math_add:{"a":1,"b":2}');
    expect({ ok, reply }).toEqual({ ok: true, reply: "RESULT: 3" });
    expect(thoughts(heard)).toEqual(["Weighing the words.", "Weighing the words."]);
    const silent = await loop();
    expect(thoughts((await silent.ask("THINK hello")).heard)).toEqual([]);
  });
});

describe("tool servers", () => {
  const withServers = async (mcp: object, orchestrator: object = {}) => {
    const workspace = await temporaryFolder();
    const running = await stage("orchestrator", { agent: { workspace, mcp, orchestrator } });
    return { ...running, workspace };
  };
  const adding = { command: process.execPath, args: [MCP, "add"] };

  it("offers the tools of a real server and calls them; servers written into the workspace count too", async () => {
    const { ask, workspace } = await withServers({ sums: adding });
    await writeFile(join(workspace, ".mcp.json"), JSON.stringify({ mcpServers: { more: adding } }));
    const { reply, trace } = await ask('CALL:mcp__sums__add:{"a":40,"b":2} CALL:mcp__more__add:{"a":1,"b":1} CALL:mcp__sums__fail:{}');
    expect(reply).toBe("RESULT: it is not my day");
    expect(stepsOf(trace)).toMatchObject([
      { name: "mcp__sums__add", output: "42" },
      { name: "mcp__more__add", output: "2" },
      { name: "mcp__sums__fail", error: "it is not my day" },
    ]);
  });

  it("FAULT-74 goes on without a server that hangs, dies, does not exist or is nonsense, and names each in the trace", async () => {
    const { ask } = await withServers(
      {
        sums: adding,
        hanging: { command: process.execPath, args: [MCP, "hang"] },
        dying: { command: process.execPath, args: [MCP, "die"] },
        absent: { command: "/nowhere/at/all" },
        web: { type: "http", url: "http://127.0.0.1:1/mcp" },
      },
      { serverTimeoutSeconds: 2 },
    );
    const first = await ask('CALL:mcp__sums__add:{"a":40,"b":2}');
    expect(first.reply).toBe("RESULT: 42");
    const errors = Object.fromEntries(stepsOf(first.trace).flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])));
    expect(errors).toEqual({
      mcp__hanging: "it was not ready after 2 s",
      mcp__dying: "it ended with exit code 3. no luck today",
      mcp__absent: expect.stringContaining("there is no such file"),
      mcp__web: expect.any(String),
    });
  });

  it("FAULT-74 a .mcp.json that cannot be read is named in the trace, and the servers of the configuration are there", async () => {
    const { ask, workspace } = await withServers({ sums: adding });
    await writeFile(join(workspace, ".mcp.json"), "{ broken");
    const { reply, trace } = await ask('CALL:mcp__sums__add:{"a":40,"b":2}');
    expect(reply).toBe("RESULT: 42");
    expect(stepsOf(trace)).toMatchObject([{ name: ".mcp.json", error: expect.any(String) }, { name: "mcp__sums__add" }]);
  });

  it("FAULT-74 a server that dies in the middle of a turn fails its calls and not the turn", async () => {
    const { ask } = await withServers({ sums: adding });
    const { ok, trace } = await ask('CALL:mcp__sums__die:{} CALL:mcp__sums__add:{"a":1,"b":1}');
    expect(ok).toBe(true);
    expect(stepsOf(trace).map(({ error }) => error !== undefined)).toEqual([true, true]);
  });

  it("FAULT-74 a call that hangs ends with the turn, and no process stays behind", async () => {
    const { ask, kernel } = await withServers({ sums: adding });
    const inHang = (event: TaskEvent) => event.type === "step" && event.step.name === "mcp__sums__hang";
    const stop = (event: TaskEvent) => inHang(event) && void kernel.tasks.cancel(kernel.tasks.running()[0]!.id);
    const { ok, errorKind, trace } = await ask("CALL:mcp__sums__pid:{} CALL:mcp__sums__hang:{}", {}, undefined, stop);
    expect({ ok, errorKind }).toEqual({ ok: false, errorKind: "cancelled" });
    const pid = Number(stepsOf(trace)[0]?.output);
    expect(pid).toBeGreaterThan(1);
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 10_000 }).toBe(false);
  });
});
