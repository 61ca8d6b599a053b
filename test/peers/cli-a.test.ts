import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tier, TierEvent } from "@svc/sdk";
import { engineContract, tierContract } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/tiers/cli-a/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, engineSubject, first, type RunOptions, type Stage, stageOfContract } from "./stage.ts";

const skipped = missing("claude");
if (skipped) console.warn(`skipped: ${skipped}`);
const api = { billing: "api" };
const kept = { ...api, persistentProcess: true };
const start = (env: Record<string, string> = {}) =>
  createStage(plugin as never, {
    config: { command: PROGRAMS.claude },
    env: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy-key", ...env }),
    limits: { maxIdleSeconds: 600, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 },
  });

/** A program of it serves one session: the tests that look at what a turn tells, and not at how the program starts and ends, go on in one. */
let warm: Stage;
let going: string | undefined;
beforeAll(async () => {
  warm = await start();
});
beforeEach(() => warm.server.clear());
afterEach(() => expect(warm.server.refusals, "requests that the real API would refuse").toEqual([]));
afterAll(() => warm.dispose());

async function goOn(prompt: string, more: RunOptions = {}): Promise<TierEvent[]> {
  const events = await warm.run(prompt, { settings: kept, ...(going === undefined ? {} : { session: going }), ...more });
  going = first(events, "session")?.id;
  return events;
}

/** The tier, with a session that goes on in each conversation. */
function goingOn(tier: Tier): Tier {
  const sessions = new Map<string, string>();
  return {
    ...tier,
    async *run(turn, context, signal) {
      const at = turn.route.conversation;
      const session = context.session ?? sessions.get(at);
      for await (const event of tier.run(turn, { ...context, ...(session === undefined ? {} : { session }) }, signal)) {
        if (event.type === "session") sessions.set(at, event.id);
        yield event;
      }
    },
  };
}

describe.skipIf(skipped)("cli-a on Claude Code", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await start();
  });
  afterEach(async () => {
    await stage.dispose();
    expect(stage.server.refusals, "requests that the real API would refuse").toEqual([]);
  });

  it("streams an answer with session, model and the tokens of the turn; sends the agent's words as a part of the system prompt", async () => {
    const [system, layers] = ["You are Ada, supervisor of the gate.", [{ name: "rules", priority: 1, text: "Be brief." }]];
    const events = await stage.run("hello there", { settings: api, model: "claude-sonnet-test", system, layers });
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
    expect(answerOf(events)).toBe("ECHO: Be brief.\n\nhello there");
    expect(first(events, "session")?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(first(events, "usage")).toMatchObject({ model: "claude-sonnet-test", usage: { output: expect.any(Number) } });
    expect(first(events, "usage")?.usage.cacheCreate).toBeGreaterThan(0);
    const body = stage.server.requests.find(({ api }) => api === "messages")?.body;
    expect(body?.model).toBe("claude-sonnet-test");
    expect(JSON.stringify(body?.system)).toContain(system);
    expect(stage.server.requests.at(-1)?.conversation?.prompt).toBe("Be brief.\n\nhello there");
    expect(stage.processes()).toEqual([]);
  });

  it("tells the tool calls as steps with summaries", async () => {
    const events = await stage.run('CALL:Write:{"file_path":"note.txt","content":"secret words"} now', { settings: { ...api, permissionMode: "acceptEdits" } });
    const steps = events.flatMap((event) => (event.type === "step" ? [event.step] : []));
    expect(steps).toMatchObject([
      { name: "Write", phase: "start", input: "note.txt" },
      { name: "Write", phase: "end", output: expect.stringContaining("created") },
    ]);
    expect(JSON.stringify(steps)).not.toContain("secret words");
    expect(readFileSync(join(stage.workspace, "note.txt"), "utf8")).toBe("secret words");
    expect(answerOf(events)).toContain("RESULT: ");
  });

  it("ENG-7 neither the model's commands nor tool servers see the key that pays for them", async () => {
    const seen = join(stage.workspace, "server-environment");
    const script = join(stage.workspace, "server.mjs");
    writeFileSync(script, `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(seen)}, JSON.stringify(process.env));`);
    writeFileSync(join(stage.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { spy: { command: process.execPath, args: [script] } } }));
    const settings = { ...api, permissionMode: "acceptEdits", mcp: { spy: { command: process.execPath, args: [script] } } };
    const events = await stage.run('CALL:Bash:{"command":"env > shell-environment; echo done"} now', { settings });
    expect(events.at(-1)?.type).toBe("done");
    expect(answerOf(events)).toContain("RESULT: ");
    const texts = [seen, join(stage.workspace, "shell-environment")].filter((file) => existsSync(file)).map((file) => readFileSync(file, "utf8"));
    expect(texts.length).toBeGreaterThan(0);
    for (const text of texts) {
      expect(text).toContain("PATH");
      expect(text).not.toContain("dummy-key");
    }
  });

  it("denies what the permission mode does not allow, without asking anybody", async () => {
    const events = await goOn('CALL:Write:{"file_path":"note.txt","content":"x"} now');
    expect(events.flatMap((event) => (event.type === "step" && event.step.phase === "end" ? [event.step.error] : []))).toEqual([
      expect.stringContaining("permissionMode 'default'"),
    ]);
    expect(existsSync(join(warm.workspace, "note.txt"))).toBe(false);
    expect(events.at(-1)?.type).toBe("done");
  });

  it("resumes the native session over two turns, with the newer system prompt", async () => {
    const once = await stage.run("first words", { settings: api, system: "Version one." });
    const session = first(once, "session")?.id as string;
    stage.server.clear();
    const again = await stage.run("second words", { settings: api, system: "Version two.", session });
    expect(first(again, "session")?.id).toBe(session);
    const body = stage.server.requests.find(({ api }) => api === "messages")?.body;
    expect(JSON.stringify(body?.messages)).toContain("first words");
    expect(JSON.stringify(body?.system)).toContain("Version two.");
    expect(JSON.stringify(body?.system)).not.toContain("Version one.");
  });

  it("starts a new session where the one to resume is unknown", async () => {
    const events = await stage.run("hello again", { settings: api, session: "11111111-1111-4111-8111-111111111111" });
    expect(answerOf(events)).toBe("ECHO: hello again");
    expect(first(events, "session")?.id).not.toBe("11111111-1111-4111-8111-111111111111");
    expect(events.filter(({ type }) => type === "done" || type === "error")).toHaveLength(1);
  });

  it("passes pictures on as content", async () => {
    const data = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    const path = join(warm.workspace, "dot.png");
    writeFileSync(path, data);
    await goOn("what is this", {
      media: [
        { kind: "image", path, type: "image/png" },
        { kind: "image", name: "fake.png", data: Buffer.from("no picture") },
      ],
    });
    const body = JSON.stringify(warm.server.requests.find(({ api }) => api === "messages")?.body.messages);
    expect(body).toContain('"media_type":"image/png"');
    expect(body).toContain("fake.png");
  });

  it("RUN-01 leaves no process after a cancel while the model hangs", async () => {
    const abort = new AbortController();
    const run = stage.run("HANG", { settings: api, signal: abort.signal, listen: ({ type }) => type === "session" && setTimeout(() => abort.abort(), 200) });
    const events = await run;
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("RUN-01 leaves no tool shell after a cancel while a command runs", async () => {
    mkdirSync(join(stage.home, ".claude"));
    writeFileSync(join(stage.home, ".claude/settings.json"), JSON.stringify({ permissions: { allow: ["Bash"] } }));
    const abort = new AbortController();
    let tree: number[] = [];
    const events = await stage.run('CALL:Bash:{"command":"tail -f /dev/null | cat","description":"wait"} now', {
      settings: api,
      signal: abort.signal,
      async listen(event) {
        if (event.type !== "step" || event.step.phase !== "start") return;
        while ((tree = stage.processes()).length < 3) await new Promise((resolve) => setTimeout(resolve, 20));
        abort.abort();
      },
    });
    expect(tree.length, "the program, the shell and its command").toBeGreaterThan(2);
    expect(events.some(({ type }) => type === "done")).toBe(false);
    expect(stage.processes()).toEqual([]);
  });

  it("tells 401 and 429 as errors with their kind", async () => {
    expect((await goOn("FAIL:429 now")).at(-1)).toMatchObject({ type: "error", kind: "rate-limit" });
    const locked = await start({ ANTHROPIC_API_KEY: "bad-key" });
    expect((await locked.run("hello", { settings: api })).at(-1)).toMatchObject({ type: "error", kind: "auth" });
    await locked.dispose();
  });

  it("goes on after a vendor that was overloaded once", async () => {
    expect(answerOf(await goOn("FAIL:529:1 then speak"))).toBe("ECHO: FAIL:529:1 then speak");
  });

  it("RUN-12 a run on the shared sign-in gets no key, even where the daemon has one", async () => {
    const events = await stage.run("hello", { settings: { billing: "subscription" } });
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "auth" });
    expect(stage.server.requests).toEqual([]);
  });

  it("CRON-08 report denies Write and tells it, and lets a reading command through", async () => {
    writeFileSync(join(stage.workspace, "here.txt"), "found me");
    const settings = { ...api, permissionMode: "bypassPermissions" };
    const events = await stage.run('CALL:Write:{"file_path":"note.txt","content":"x"} CALL:Bash:{"command":"cat here.txt","description":"look"}', {
      settings,
      turn: { autonomy: "report" },
    });
    expect(events.filter(({ type }) => type === "blocked")).toEqual([{ type: "blocked", tool: "Write", reason: expect.stringContaining("report") }]);
    expect(existsSync(join(stage.workspace, "note.txt"))).toBe(false);
    expect(answerOf(events)).toBe("RESULT: found me");
    const { entries } = (await stage.context.request("GET", "/guard/log")).body as { entries: unknown[] };
    expect(entries).toMatchObject([{ agent: "ada", autonomy: "report", tool: "Write" }]);
  });

  it("CRON-08 report takes no rule or hook from files that the agent could have written", async () => {
    mkdirSync(join(stage.workspace, ".claude"));
    const hook = { matcher: "*", hooks: [{ type: "command", command: `touch ${join(stage.workspace, "hooked")}` }] };
    writeFileSync(
      join(stage.workspace, ".claude/settings.json"),
      JSON.stringify({ permissions: { allow: ["Write", "Bash(*)"] }, hooks: { PreToolUse: [hook] } }),
    );
    const events = await stage.run('CALL:Bash:{"command":"touch made","description":"make"} now', { settings: api, turn: { autonomy: "report" } });
    expect(events.filter(({ type }) => type === "blocked")).toHaveLength(1);
    expect(existsSync(join(stage.workspace, "made")) || existsSync(join(stage.workspace, "hooked"))).toBe(false);
  });

  it("keeps the process of a conversation warm, and starts another where something changed", async () => {
    const settings = { ...api, persistentProcess: true };
    const once = await stage.run("one", { settings });
    const [pid] = stage.processes();
    expect(stage.context.warm.has("ada:test:-:chat")).toBe(true);
    const session = first(once, "session")?.id as string;
    expect(answerOf(await stage.run("two", { settings, session }))).toBe("ECHO: two");
    expect(stage.processes()).toEqual([pid]);
    await stage.run("three", { settings, session, system: "Another." });
    expect(stage.processes()).toHaveLength(1);
    expect(stage.processes()).not.toEqual([pid]);
  });

  it("SES-09 a restricted run takes no warm process and leaves none", async () => {
    const session = first(await goOn("one"), "session")?.id as string;
    const [pid] = warm.processes();
    const events = await warm.run('CALL:Read:{"file_path":"x"}', { settings: kept, conversation: "ada:cron:-:job", turn: { autonomy: "report" } });
    expect(first(events, "session")?.id).not.toBe(session);
    expect(warm.processes()).toEqual([pid]);
  });

  it("ENG-13 tells a conversation that is too long as one that needs a new session", async () => {
    await goOn("hello");
    const full = await goOn("OVERFLOW");
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
    const body = JSON.stringify(stage.server.requests.findLast(({ api }) => api === "messages")?.body);
    expect(body).toContain("three");
    // The model repeats what it is told.
    expect(body.match(/(?<!ECHO: )## Identity of the test/g)).toHaveLength(1);
  });

  it("answers the probe with its version", async () => {
    expect(await stage.tier.probe?.()).toMatchObject({ ok: true, detail: expect.stringMatching(/\d+\.\d+\.\d+/) });
  });
});

describe.skipIf(skipped)("cli-a keeps the contract of tiers", () => {
  let inOneSession: Tier | undefined;
  tierContract(
    { describe, it },
    async () => {
      const { stage, settings, dispose } = await stageOfContract(expect.getState().currentTestName, warm, start);
      return {
        tier: stage === warm ? (inOneSession ??= goingOn(warm.tier)) : stage.tier,
        agent: { workspace: stage.workspace, settings: { ...api, ...settings, permissionMode: "acceptEdits" } },
        works: { prompt: 'CALL:Bash:{"command":"echo written words here","description":"say"} now', answer: "RESULT: written words here" },
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
