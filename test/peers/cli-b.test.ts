import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineContract, tierContract } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import plugin from "../../plugins/tiers/cli-b/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, engineSubject, first, type Stage, stageOfContract } from "./stage.ts";

const skipped = missing("codex");
if (skipped) console.warn(`skipped: ${skipped}`);
const api = { billing: "api" };
const kept = { ...api, persistentProcess: true };
const start = (env: Record<string, string> = {}) =>
  createStage(plugin as never, {
    config: { command: PROGRAMS.codex },
    env: (url) => ({ OPENAI_BASE_URL: `${url}/v1`, OPENAI_API_KEY: "dummy-key", ...env }),
    limits: { maxIdleSeconds: 600, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 },
  });
/** A server with one tool, `add`. */
const ADDER = `
import { createInterface } from "node:readline";
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") out({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "adder", version: "1" } } });
  else if (method === "tools/list") out({ id, result: { tools: [{ name: "add", description: "adds", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } } }] } });
  else if (method === "tools/call") out({ id, result: { content: [{ type: "text", text: "SUM=" + (params.arguments.a + params.arguments.b) }] } });
  else if (id !== undefined) out({ id, result: {} });
});`;

/** Its program serves the tests that look at what a turn tells, and not at how the program starts and ends. */
let warm: Stage;
beforeAll(async () => {
  warm = await start();
});
beforeEach(() => warm.server.clear());
afterEach(() => expect(warm.server.refusals, "requests that the real API would refuse").toEqual([]));
afterAll(() => warm.dispose());

describe.skipIf(skipped)("cli-b on Codex", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await start();
  });
  afterEach(async () => {
    await stage.dispose();
    expect(stage.server.refusals, "requests that the real API would refuse").toEqual([]);
  });

  it("streams an answer with session, model, tokens and the agent's words", async () => {
    const events = await stage.run("hello there", { settings: api, model: "fake-7", system: "You are Ben, supervisor of the gate." });
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
    expect(answerOf(events)).toBe("ECHO: hello there");
    expect(first(events, "session")?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(first(events, "usage")).toMatchObject({ model: "fake-7", usage: { input: expect.any(Number), cacheRead: 0 } });
    const body = stage.server.requests.find(({ api }) => api === "responses")?.body;
    expect(body?.model).toBe("fake-7");
    expect(JSON.stringify(body)).toContain("You are Ben, supervisor of the gate.");
    expect(stage.processes()).toEqual([]);
  });

  it("tells the tokens of a turn with several calls of the model, and of the next turn alone", async () => {
    const call = 'CALL:exec_command:{"cmd":"sleep 0.3; echo one"}';
    const once = await warm.run(`${call} x`, { settings: kept });
    const alone = warm.server.requests.filter(({ api }) => api === "responses").length;
    expect(alone).toBe(2);
    const session = first(once, "session")?.id as string;
    const next = await warm.run("two", { settings: api, session });
    expect(first(once, "usage")?.usage.input).toBeGreaterThan((first(next, "usage")?.usage.input as number) * 1.5);
  });

  it("tells commands as steps", async () => {
    const events = await warm.run('CALL:exec_command:{"cmd":"echo hi > a.txt; sleep 0.3; cat a.txt"} x', {
      settings: { ...kept, permissionMode: "acceptEdits" },
    });
    expect(events.flatMap((event) => (event.type === "step" ? [event.step] : []))).toMatchObject([
      { name: "shell", phase: "start", input: expect.stringContaining("echo hi") },
      { name: "shell", phase: "end", output: expect.stringContaining("hi") },
    ]);
    expect(readFileSync(join(warm.workspace, "a.txt"), "utf8")).toBe("hi\n");
  });

  it("ENG-7 the model's commands do not see the key that pays for them", async () => {
    const events = await warm.run('CALL:exec_command:{"cmd":"env; sleep 0.2"} x', { settings: { ...kept, permissionMode: "acceptEdits" } });
    const told = JSON.stringify([events, warm.server.requests.map(({ body }) => body)]);
    expect(told).toContain("HOME=");
    expect(told).not.toMatch(/OPENAI_API_KEY=|dummy-key/);
  });

  it("writes nothing by default, and declines what the program asks for", async () => {
    const asks = '{"cmd":"touch made","sandbox_permissions":"require_escalated","justification":"because"}';
    const events = await warm.run(`CALL:exec_command:{"cmd":"touch made; sleep 0.2"} CALL:exec_command:${asks} x`, { settings: kept });
    expect(existsSync(join(warm.workspace, "made"))).toBe(false);
    expect(answerOf(events)).toContain("rejected");
  });

  it("the model of a message counts for its turn alone of a conversation that is kept", async () => {
    const asked = () => warm.server.requests.filter(({ api }) => api === "responses").map(({ body }) => (body as { model?: string }).model);
    let session: string | undefined;
    const models: unknown[] = [];
    for (const model of ["fake-7", "fake-8", "fake-7"]) {
      const events = await warm.run("hello", { settings: kept, model, ...(session === undefined ? {} : { session }) });
      session = first(events, "session")?.id as string;
      models.push((first(events, "usage") as { model?: string } | undefined)?.model);
    }
    expect(models).toEqual(["fake-7", "fake-8", "fake-7"]);
    expect(asked()).toEqual(models);
    const last = warm.server.requests.at(-1)?.body;
    expect(JSON.stringify(last).match(/ECHO: hello/g)).toHaveLength(2);
  });

  it("a permissionMode that was narrowed counts for the next turn of a conversation that is kept", async () => {
    const touch = (name: string) => `CALL:exec_command:{"cmd":"touch ${name}; sleep 0.2"} x`;
    const before = await warm.run(touch("wide"), { settings: { ...kept, permissionMode: "bypassPermissions" } });
    const session = first(before, "session")?.id as string;
    expect(existsSync(join(warm.workspace, "wide"))).toBe(true);
    const after = await warm.run(touch("narrow"), { settings: { ...kept, permissionMode: "default" }, session });
    expect(existsSync(join(warm.workspace, "narrow"))).toBe(false);
    // It goes on with what was said, as a thread of its own.
    expect(first(after, "session")?.id).not.toBe(session);
    expect(JSON.stringify(warm.server.requests.at(-1)?.body)).toContain("touch wide");
    const again = await warm.run(touch("again"), { settings: { ...kept, permissionMode: "default" }, session: first(after, "session")?.id as string });
    expect(first(again, "session")?.id).toBe(first(after, "session")?.id);
  });

  it("resumes the thread in a new process, with the newer system prompt", async () => {
    const session = first(await stage.run("first words", { settings: api, system: "Version one." }), "session")?.id as string;
    stage.server.clear();
    const again = await stage.run("second words", { settings: api, system: "Version two.", session });
    expect(first(again, "session")?.id).toBe(session);
    const body = JSON.stringify(stage.server.requests.find(({ api }) => api === "responses")?.body);
    expect(body).toContain("first words");
    expect(body).toContain("Version two.");
    stage.server.clear();
    await stage.run("third words", { settings: api, system: "Version two.", session });
    expect(JSON.stringify(stage.server.requests.find(({ api }) => api === "responses")?.body).split("Version two."), "told once").toHaveLength(2);
  });

  it("starts a new thread where the one to resume is unknown", async () => {
    const session = "01a1fbf7-0000-7000-8000-000000000000";
    const events = await warm.run("hello again", { settings: kept, session });
    expect(answerOf(events)).toBe("ECHO: hello again");
    expect(first(events, "session")?.id).not.toBe(session);
  });

  it("offers the servers of .mcp.json, and accepts the tools of those the operator gave", async () => {
    const script = join(stage.workspace, "adder.mjs");
    writeFileSync(script, ADDER);
    writeFileSync(join(stage.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { adder: { command: process.execPath, args: [script] } } }));
    const prompt = 'CALL:add:{"a":1,"b":41} x';
    // A model that the program does not know gets the tools one by one.
    const model = "fake-7";
    expect(answerOf(await stage.run(prompt, { settings: kept, model }))).toContain("rejected");
    const events = await stage.run(prompt, { model, settings: { ...kept, mcp: { adder: { command: process.execPath } } } });
    expect(answerOf(events)).toContain("SUM=42");
    expect(events.some((event) => event.type === "step" && event.step.name === "mcp__adder__add")).toBe(true);
  });

  it("passes pictures on, and names what is none", async () => {
    const path = join(warm.workspace, "dot.png");
    writeFileSync(path, Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64"));
    const secret = join(warm.workspace, "secret.png");
    writeFileSync(secret, "no picture, but a secret");
    const media = [
      { kind: "image", path, type: "image/tiff" },
      { kind: "image", path: secret, name: "secret.png" },
    ] as const;
    await warm.run("what is this", { settings: kept, media });
    const body = JSON.stringify(warm.server.requests.find(({ api }) => api === "responses")?.body);
    expect(body.match(/"input_image"/g)).toHaveLength(1);
    expect(body).toContain("Not passed on, because it is no picture of at most 5 MB: secret.png");
  });

  it("RUN-01 leaves no process after a cancel, neither alone nor shared", async () => {
    for (const persistentProcess of [false, true]) {
      const abort = new AbortController();
      let tree: number[] = [];
      const events = await stage.run('CALL:exec_command:{"cmd":"tail -f /dev/null | cat","yield_time_ms":30000} x', {
        settings: { ...api, persistentProcess },
        signal: abort.signal,
        async listen(event) {
          if (event.type !== "step" || event.step.phase !== "start") return;
          tree = stage.processes();
          abort.abort();
        },
      });
      expect(tree.length).toBeGreaterThan(1);
      expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
      await expect.poll(() => stage.processes(), { message: "the commands are gone; a shared program stays" }).toHaveLength(persistentProcess ? 1 : 0);
    }
  });

  it("ends at once when the model hangs and the run is cancelled", async () => {
    const abort = new AbortController();
    const events = await stage.run("HANG", {
      settings: api,
      signal: abort.signal,
      listen: ({ type }) => type === "session" && setTimeout(() => abort.abort(), 200),
    });
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("tells 401 and 429 as errors with their kind", async () => {
    expect((await warm.run("FAIL:429 now", { settings: kept })).at(-1)).toMatchObject({ type: "error", kind: "rate-limit" });
    const locked = await start({ OPENAI_API_KEY: "bad-key" });
    expect((await locked.run("hello", { settings: api })).at(-1)).toMatchObject({ type: "error", kind: "auth" });
    await locked.dispose();
  });

  it("RUN-12 a run on the shared sign-in gets no key, even where the daemon has one", async () => {
    const home = join(stage.home, ".codex");
    mkdirSync(home);
    // A provider of the operator's own that would use the key if it were there.
    writeFileSync(
      join(home, "config.toml"),
      `model_provider="own"\n[model_providers.own]\nname="own"\nbase_url="${stage.server.url}/v1"\nenv_key="OPENAI_API_KEY"\nwire_api="responses"\n`,
    );
    expect((await stage.run("hello", { settings: { billing: "subscription" } })).at(-1)).toMatchObject({ type: "error", kind: "auth" });
    expect(stage.server.requests.filter(({ api }) => api === "responses")).toEqual([]);
  });

  it("serves the conversations of persistent agents from one process, side by side", async () => {
    const settings = { ...api, persistentProcess: true };
    const [left, right] = await Promise.all([
      stage.run("left words", { settings, conversation: "left" }),
      stage.run("right words", { settings, conversation: "right" }),
    ]);
    expect([answerOf(left), answerOf(right)]).toEqual(["ECHO: left words", "ECHO: right words"]);
    // Short-lived helpers of the program's own come and go; one process stays.
    await vi.waitFor(() => expect(stage.processes()).toHaveLength(1), { timeout: 10_000 });
    const [pid] = stage.processes();
    const again = await stage.run("more words", { settings, session: first(left, "session")?.id as string });
    expect(answerOf(again)).toBe("ECHO: more words");
    await vi.waitFor(() => expect(stage.processes()).toEqual([pid]), { timeout: 10_000 });
  });

  it("ENG-13 tells a conversation that is too long as one that needs a new session", async () => {
    const session = first(await warm.run("hello", { settings: kept }), "session")?.id as string;
    const full = await warm.run("OVERFLOW", { settings: kept, session });
    expect(full.at(-1)).toMatchObject({ type: "error", kind: "context" });
    expect(answerOf(await warm.run("hello again", { settings: kept }))).toContain("hello again");
  });

  it("ENG-5 tells a tool server that does not start, once", async () => {
    writeFileSync(join(stage.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { broken: { command: "/no/such/server", args: [] } } }));
    const told = (events: Awaited<ReturnType<typeof stage.run>>) => events.flatMap((event) => (event.type === "step" ? [event.step] : []));
    const events = await stage.run("hello", { settings: api });
    expect(told(events)).toMatchObject([{ name: "mcp broken", phase: "end", error: expect.stringContaining("'broken' did not start") }]);
    expect(events.at(-1)?.type).toBe("done");
    expect(told(await stage.run("hello again", { settings: api }))).toEqual([]);
  });

  it("ENG-9 the probe tells installed, signed in and reachable apart, without a model call", async () => {
    const ask = (billing: string) =>
      stage.tier.probe?.({ id: "ada", name: "ada", workspace: stage.workspace, tier: stage.tier.name, mentions: [], access: "private", settings: { billing } });
    expect(await ask("api")).toMatchObject({ ok: true, detail: expect.stringMatching(/an API key is set; vendor reachable$/) });
    expect(stage.server.requests).toEqual([]);
    expect(await ask("subscription")).toMatchObject({ ok: false, detail: expect.stringContaining("not signed in") });
  });

  it("ENG-15 a session that goes on holds one copy of a layer", async () => {
    const layers = [{ name: "identity", priority: 4, text: "## Identity of the test" }];
    const session = first(await stage.run("one", { settings: kept, layers }), "session")?.id as string;
    await stage.run("two", { settings: kept, layers, session });
    await stage.run("three", { settings: api, layers, session });
    const body = JSON.stringify(stage.server.requests.findLast(({ api }) => api === "responses")?.body);
    expect(body).toContain("three");
    // The model repeats what it is told.
    expect(body.match(/(?<!ECHO: )## Identity of the test/g)).toHaveLength(1);
  });

  it("answers the probe with its version", async () => {
    expect(await stage.tier.probe?.()).toMatchObject({ ok: true, detail: expect.stringMatching(/\d+\.\d+\.\d+/) });
  });
});

describe.skipIf(skipped)("cli-b keeps the contract of tiers", () => {
  tierContract(
    { describe, it },
    async () => {
      const { stage, settings, dispose } = await stageOfContract(expect.getState().currentTestName, warm, start);
      return {
        tier: stage.tier,
        agent: { workspace: stage.workspace, settings: { ...api, ...settings, permissionMode: "acceptEdits" } },
        works: { prompt: 'CALL:exec_command:{"cmd":"sleep 0.3; echo written words here"} now', answer: "written words here" },
        other: { prompt: "the other words of the turn", answer: "ECHO: the other words" },
        fails: "FAIL:400",
        endless: "HANG",
        silent: ["MUTE"],
        idle: () => stage.processes().length === 0,
        dispose,
      };
    },
    // The program counts the tokens of a turn at its end.
    { lacks: ["tokens of a cancelled run"] },
  );

  engineContract({ describe, it }, async () => engineSubject(await start(), api));
});
