import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Spawn } from "@svc/sdk";
import { engineContract, tierContract } from "@svc/sdk/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import plugin from "../../plugins/tiers/cli-c/index.ts";
import { missing, PROGRAMS } from "./programs.ts";
import { answerOf, createStage, engineSubject, first, type Stage, stageOfContract } from "./stage.ts";

const skipped = missing("gemini");
if (skipped) console.warn(`skipped: ${skipped}`);
const api = { billing: "api" };
const kept = { ...api, persistentProcess: true };
/** Any but the default, with which the program asks a second model which one to take. */
const model = "gemini-2.5-flash";

async function start(env: Record<string, string> = {}): Promise<Stage> {
  let version: ReturnType<Spawn> | undefined;
  const stage = await createStage(plugin as never, {
    config: { command: PROGRAMS.gemini },
    env: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: "dummy-key", ...env }),
    limits: { maxIdleSeconds: 600, maxAgeSeconds: 2700, sweepIntervalSeconds: 5 },
    // The version is the same each time, and takes a second.
    around: (spawn) => (command, args, options) => (args.at(-1) === "--version" ? (version ??= spawn(command, args, options)) : spawn(command, args, options)),
  });
  // Below /tmp the program does not trust the tier's own settings: folders there are open to others.
  mkdirSync(join(stage.home, ".gemini"));
  writeFileSync(
    join(stage.home, ".gemini/settings.json"),
    JSON.stringify({ general: { maxAttempts: 2, retryFetchErrors: false, enableAutoUpdate: false }, privacy: { usageStatisticsEnabled: false } }),
  );
  return stage;
}

/** Its program, which takes a second to start, serves the tests that look at what a turn tells, and not at how the program starts and ends. */
let warm: Stage;
beforeAll(async () => {
  warm = await start();
});
beforeEach(() => warm.server.clear());
afterEach(() => expect(warm.server.refusals, "requests that the real API would refuse").toEqual([]));
afterAll(() => warm.dispose());

describe.skipIf(skipped)("cli-c on Gemini CLI", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await start();
  });
  afterEach(async () => {
    await stage.dispose();
    expect(stage.server.refusals, "requests that the real API would refuse").toEqual([]);
  });
  const asked = (of = warm) => JSON.stringify(of.server.requests.filter(({ api }) => api === "gemini").at(-1)?.body);

  it("streams an answer with session, model, tokens and the agent's words; passes pictures on by their bytes, and names what is none", async () => {
    const path = join(stage.workspace, "dot.png");
    writeFileSync(path, Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64"));
    const secret = join(stage.workspace, "secret.png");
    writeFileSync(secret, "no picture, but a secret");
    const media = [
      { kind: "image", path, type: "image/tiff" },
      { kind: "image", path: secret, name: "secret.png" },
    ] as const;
    const events = await stage.run("hello there", { settings: api, model, system: "You are Cleo, supervisor of the gate.", media });
    expect(events.filter(({ type }) => type === "text").length).toBeGreaterThan(1);
    expect(answerOf(events)).toContain("hello there");
    expect(first(events, "session")?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(first(events, "usage")).toMatchObject({ model, usage: { input: expect.any(Number), output: expect.any(Number) } });
    expect(asked(stage)).toContain("You are Cleo, supervisor of the gate.");
    expect(asked(stage).match(/"mimeType":"[^"]*"/g)).toEqual(['"mimeType":"image/png"']);
    expect(asked(stage)).toContain("Not passed on, because it is no picture of at most 5 MB: secret.png");
    expect(stage.processes()).toEqual([]);
  });

  it("ENG-7 the model's commands do not see the key that pays for them", async () => {
    const events = await warm.run('CALL:run_shell_command:{"command":"cat /proc/$PPID/environ; env"} now', {
      settings: { ...kept, permissionMode: "bypassPermissions" },
      model,
    });
    const told = JSON.stringify([events, warm.server.requests.map(({ body }) => body)]);
    expect(events.at(-1)?.type).toBe("done");
    expect(told).toContain("HOME=");
    expect(told).not.toContain("dummy-key");
    expect(new Set(warm.server.requests.filter(({ api }) => api === "gemini").map(({ key }) => key))).toEqual(new Set(["dummy-key"]));
  });

  it("edits under acceptEdits", async () => {
    await warm.run('CALL:write_file:{"file_path":"note.txt","content":"written"} now', { settings: { ...kept, permissionMode: "acceptEdits" }, model });
    expect(readFileSync(join(warm.workspace, "note.txt"), "utf8")).toBe("written");
  });

  it("goes on with a conversation in a new process by telling what was said, with the newer instructions, and after a turn that failed", async () => {
    const session = first(await warm.run("remember the blue lamp", { settings: kept, model, system: "Version one." }), "session")?.id as string;
    const failed = await warm.run("FAIL:400", { settings: kept, model, session });
    expect(failed.at(-1)).toMatchObject({ type: "error", kind: "request" });
    const again = await warm.run("which lamp", { settings: api, model, system: "Version two.", session });
    expect(first(again, "session")?.id).toBe(session);
    for (const words of ["remember the blue lamp", '"text":"Version two.', "which lamp"]) expect(asked()).toContain(words);
    await warm.run("a third", { settings: api, model, system: "Version two.", session });
    expect(asked()).toContain("which lamp");
  });

  it("ENG-15 a session that goes on holds one copy of a layer; a warm process keeps it natively, and forgets one that was cut short", async () => {
    const settings = { ...kept, permissionMode: "bypassPermissions" };
    rmSync(join(warm.workspace, "stop"), { force: true });
    const layers = [{ name: "identity", priority: 4, text: "## Identity of the test" }];
    const given = { settings, model, system: "", layers };
    const session = first(await warm.run("one", given), "session")?.id as string;
    const [pid, ...others] = warm.processes();
    expect(others).toEqual([]);
    await warm.run("two", { ...given, session });
    expect(asked(), "it is not told again").not.toContain("What was said before");
    await warm.run("three", { ...given, session });
    expect(asked()).toContain("three");
    // The model repeats what it is told.
    expect(asked().match(/(?<!ECHO: )## Identity of the test/g)).toHaveLength(1);
    const abort = new AbortController();
    await warm.run('CALL:run_shell_command:{"command":"until [ -e stop ]; do sleep 0.1; done"} x', {
      ...given,
      session,
      signal: abort.signal,
      async listen(event) {
        if (event.type !== "step" || event.step.phase !== "start") return;
        await expect.poll(() => warm.processes().length, { message: "the command runs, and the program has time to hear" }).toBeGreaterThan(1);
        abort.abort();
      },
    });
    await expect.poll(() => warm.processes(), { message: "the commands are gone, the program stays" }).toEqual([pid]);
    // The model calls the tool once more: it reads the stopped turn's words too.
    writeFileSync(join(warm.workspace, "stop"), "");
    expect((await warm.run("four", { ...given, session })).at(-1)?.type).toBe("done");
    for (const words of ["What was said before", "I was stopped here", "four"]) expect(asked()).toContain(words);
  });

  it("RUN-01 leaves no process after a cancel while a command runs", async () => {
    const abort = new AbortController();
    let tree: number[] = [];
    const events = await stage.run('CALL:run_shell_command:{"command":"tail -f /dev/null | cat"} x', {
      settings: { ...api, permissionMode: "bypassPermissions" },
      model,
      signal: abort.signal,
      async listen(event) {
        if (event.type !== "step" || event.step.phase !== "start") return;
        while ((tree = stage.processes()).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
        abort.abort();
      },
    });
    expect(tree.length).toBeGreaterThan(1);
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    expect(stage.processes()).toEqual([]);
  });

  it("tells tool calls as steps, and the refused ones too; offers the servers of .mcp.json, and allows the tools of those the operator gave", async () => {
    const script = join(stage.workspace, "adder.mjs");
    writeFileSync(
      script,
      `import { createInterface } from "node:readline";
const out = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\\n");
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") out({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "adder", version: "1" } } });
  else if (method === "tools/list") out({ id, result: { tools: [{ name: "add", description: "adds", inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } } }] } });
  else if (method === "tools/call") out({ id, result: { content: [{ type: "text", text: "SUM=" + (params.arguments.a + params.arguments.b) }] } });
  else if (id !== undefined) out({ id, result: {} });
});`,
    );
    writeFileSync(join(stage.workspace, ".mcp.json"), JSON.stringify({ mcpServers: { adder: { command: process.execPath, args: [script] } } }));
    const prompt = 'CALL:mcp_adder_add:{"a":1,"b":41}';
    const events = await stage.run(`CALL:read_file:{"file_path":"here.txt"} CALL:write_file:{"file_path":"note.txt","content":"x"} ${prompt} x`, {
      settings: kept,
      model,
    });
    const steps = events.flatMap((event) => (event.type === "step" ? [event.step] : []));
    expect(steps.filter(({ phase }) => phase === "end")).toMatchObject([
      { name: "read_file" },
      { name: "write_file", error: expect.stringContaining("permissionMode") },
      { name: "mcp_adder_add", error: expect.stringContaining("permissionMode") },
    ]);
    expect(existsSync(join(stage.workspace, "note.txt"))).toBe(false);
    expect(answerOf(events)).not.toContain("SUM=42");
    expect(answerOf(await stage.run(`${prompt} x`, { settings: { ...kept, mcp: { adder: {} } }, model }))).toContain("SUM=42");
  });

  it("tells 401 and 429 as errors with their kind", async () => {
    expect((await warm.run("FAIL:429 now", { settings: kept, model })).at(-1)).toMatchObject({ type: "error", kind: "rate-limit" });
    const locked = await start({ GEMINI_API_KEY: "bad-key" });
    expect((await locked.run("hello", { settings: api, model })).at(-1)).toMatchObject({ type: "error", kind: "auth" });
    await locked.dispose();
  });

  it("RUN-12 a run on the shared sign-in gets no key, even where the daemon has one", async () => {
    expect((await stage.run("hello", { settings: { billing: "subscription" }, model })).at(-1)).toMatchObject({ type: "error", kind: "auth" });
    expect(stage.server.requests.map(({ key }) => key).filter(Boolean)).toEqual([]);
  });

  it("ENG-13 tells a conversation that is too long as one that needs a new session", async () => {
    const session = first(await warm.run("hello", { settings: kept, model }), "session")?.id as string;
    const full = await warm.run("OVERFLOW", { settings: kept, model, session });
    expect(full.at(-1)).toMatchObject({ type: "error", kind: "context" });
    expect(answerOf(await warm.run("hello again", { settings: kept, model }))).toContain("hello again");
  });

  it("ENG-9 the probe tells installed, signed in and reachable apart, without a model call", async () => {
    const ask = (billing: string) =>
      stage.tier.probe?.({ id: "ada", name: "ada", workspace: stage.workspace, tier: stage.tier.name, mentions: [], access: "private", settings: { billing } });
    const answer = await ask("api");
    expect(answer?.detail).toMatch(/an API key is set; vendor reachable$/);
    expect(answer?.ok).toBe(true);
    expect(stage.server.requests).toEqual([]);
    expect(await ask("subscription")).toMatchObject({ ok: false, detail: expect.stringContaining("not signed in") });
  });

  it("ENG-16 a turn that goes on from a stopped one knows what was asked and answered", async () => {
    const abort = new AbortController();
    const listen = ({ type }: { type: string }) => type === "text" && abort.abort();
    const stopped = await warm.run("count the blue lamps SLOW:300 one by one", { settings: api, model, signal: abort.signal, listen });
    expect(stopped.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    await warm.run("go on", { settings: kept, model, session: first(stopped, "session")?.id as string });
    for (const words of ["count the blue lamps", "You: ECHO:", "I was stopped here", "go on"]) expect(asked()).toContain(words);
  });

  it("answers the probe with its version", async () => {
    expect(await stage.tier.probe?.()).toMatchObject({ ok: true, detail: expect.stringMatching(/\d+\.\d+\.\d+/) });
  });
});

describe.skipIf(skipped)("cli-c keeps the contract of tiers", () => {
  tierContract(
    { describe, it },
    async () => {
      const { stage, settings, dispose } = await stageOfContract(expect.getState().currentTestName, warm, start);
      return {
        tier: stage.tier,
        agent: { workspace: stage.workspace, settings: { ...api, ...settings, permissionMode: "bypassPermissions" }, model },
        works: { prompt: 'CALL:run_shell_command:{"command":"echo written words here"} now', answer: "written words here" },
        other: { prompt: "the other words of the turn", answer: "the other words" },
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

  engineContract({ describe, it }, async () => engineSubject(await start(), api, model));
});
