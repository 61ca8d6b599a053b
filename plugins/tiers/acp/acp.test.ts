import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store, TierEvent } from "@svc/sdk";
import { createFakeContext, createMemoryStore, createMemoryWarm, createRealSpawn, engineContract, tierContract } from "@svc/sdk/testing";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterEach, describe, expect, it } from "vitest";
import plugin from "./index.ts";
import type { AcpSettings } from "./settings.ts";

const FAKE = join(import.meta.dirname, "fixtures/fake-agent.mjs");

/** What the fake agent can; see its head. */
type Traits = Readonly<Record<string, unknown>>;

const stages: { dispose(): Promise<void> }[] = [];
afterEach(async () => {
  for (const stage of stages.splice(0)) await stage.dispose();
});

type Stage = ReturnType<typeof openStage>;

/** The tier on the fake agent, in a folder of its own. */
function openStage(traits: Traits = {}) {
  const folder = mkdtempSync(join(tmpdir(), "svc-acp-"));
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const { spawn, processes, stopAll } = createRealSpawn();
  const store: Store = createMemoryStore();
  const stops: (() => Promise<void>)[] = [];

  function start(program: "engine" | "mute" | "missing" = "engine", section: AcpSettings = {}) {
    const warm = createMemoryWarm();
    const env = { FAKE_FOLDER: folder, FAKE_TRAITS: JSON.stringify(program === "mute" ? { mute: true } : traits), ...section.env };
    const config = { command: program === "missing" ? "/no/such/agent" : process.execPath, args: [FAKE], ...section, env };
    const context = createFakeContext(plugin as never, { config: config as never, env: { PATH: process.env.PATH ?? "" }, spawn, store, warm });
    const lifecycle = plugin.setup(context as never);
    const stop = async () => {
      await lifecycle?.stop?.();
      context.end();
      await stopAll();
    };
    stops.push(stop);
    return { tier: context.registered.tiers[0]!, context, stop };
  }

  let tasks = 0;
  let running: ReturnType<typeof start> | undefined;
  async function run(prompt: string, given: Run = {}): Promise<TierEvent[]> {
    running ??= start("engine", given.section);
    const id = `task_${++tasks}`;
    const { settings = {}, model, session, signal = new AbortController().signal, media = [], layers = [], listen } = given;
    const agent = {
      id: "dan",
      name: "Dan",
      workspace,
      tier: "acp",
      mentions: [],
      access: "private" as const,
      settings,
      ...(model === undefined ? {} : { model }),
    };
    const message = { id, rootId: id, at: 0, attempts: 0, entry: "task" as const, channel: "test", chat: "chat", text: prompt };
    const turn = {
      id,
      rootId: id,
      agent,
      route: { agent: "dan", conversation: "dan:test:-:chat", reply: { channel: "test", chat: "chat" } },
      messages: [message] as const,
      strategy: "",
      nativeSessions: true,
      attempt: 1,
      startedAt: 0,
      ended: new Promise<never>(() => {}),
    };
    const events: TierEvent[] = [];
    const context = { system: "You are Dan.", layers, prompt, media, history: [], ...(session === undefined ? {} : { session }) };
    for await (const event of running.tier.run(turn, context, signal)) {
      events.push(event);
      listen?.(event);
    }
    return events;
  }

  const wire = (): { from: string; message: Message }[] =>
    existsSync(join(folder, "wire.jsonl"))
      ? readFileSync(join(folder, "wire.jsonl"), "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line))
      : [];
  const stage = {
    folder,
    workspace,
    run,
    start,
    processes,
    wire,
    /** What the tier asked, by method. */
    asked: (method: string) => wire().flatMap(({ from, message }) => (from === "client" && message.method === method ? [message.params ?? {}] : [])),
    async dispose() {
      for (const stop of stops) await stop();
      const wrong = strange(wire());
      rmSync(folder, { recursive: true, force: true });
      expect(wrong, "messages that the protocol's schema refuses").toEqual([]);
    },
  };
  stages.push(stage);
  return stage;
}

/** A message of the protocol, with the parameters that tests look at. */
type Message = { readonly id?: unknown; readonly method?: string; readonly error?: unknown; readonly result?: unknown; readonly params?: Params };
interface Params {
  readonly clientCapabilities?: unknown;
  readonly mcpServers?: unknown;
  readonly modeId?: string;
  readonly prompt?: readonly { readonly text?: string }[];
}

interface Run {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly section?: AcpSettings;
  readonly model?: string;
  readonly session?: string;
  readonly signal?: AbortSignal;
  readonly media?: readonly { readonly kind: "image"; readonly data: Uint8Array; readonly name?: string }[];
  readonly layers?: readonly { readonly name: string; readonly priority: number; readonly text: string }[];
  readonly listen?: (event: TierEvent) => void;
}

/** The protocol's own schema: what goes over the wire, in both directions, by the method that it belongs to. */
const schema = JSON.parse(readFileSync(createRequire(import.meta.url).resolve("@agentclientprotocol/sdk/schema/v1/schema.json"), "utf8"));
const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false });
ajv.addSchema(schema, "acp");
const definitions = Object.entries(schema.$defs as Record<string, Record<string, string>>).filter(([, each]) => each["x-method"] !== undefined);
const named = (method: string, ending: string) => definitions.find(([name, each]) => each["x-method"] === method && name.endsWith(ending))?.[0];

function strange(wire: { from: string; message: Message }[]): string[] {
  // Each process counts its requests anew: the last one of an id is the one that is answered.
  const methods = new Map<string, string>();
  return wire.flatMap(({ from, message }) => {
    if (message.method !== undefined) methods.set(`${from} ${message.id}`, message.method);
    if (message.error !== undefined) return [];
    const answer = message.method === undefined;
    const method = answer ? methods.get(`${from === "client" ? "agent" : "client"} ${message.id}`) : message.method;
    const name = named(String(method), answer ? "Response" : message.id === undefined ? "Notification" : "Request");
    if (name === undefined) return [`${from}: no ${answer ? "answer" : "message"} ${method} in the protocol`];
    const validate = ajv.getSchema(`acp#/$defs/${name}`)!;
    return validate(answer ? message.result : message.params) ? [] : [`${from} ${method}: ${ajv.errorsText(validate.errors)}: ${JSON.stringify(message)}`];
  });
}

const answerOf = (events: readonly TierEvent[]) => events.map((event) => (event.type === "text" ? event.text : "")).join("");
const sessionOf = (events: readonly TierEvent[]) => events.flatMap((event) => (event.type === "session" ? [event.id] : []))[0] as string;

describe("a turn", () => {
  it("streams words, thoughts, a plan and steps", async () => {
    const stage = openStage();
    const events = await stage.run("think");
    expect(events).toMatchObject([
      { type: "session" },
      { type: "thinking", text: "it is so" },
      { type: "step", step: { name: "plan", phase: "end", output: "[>] look\n[ ] tell" } },
      { type: "step", step: { name: "plan", phase: "end", output: "[x] look\n[ ] tell" } },
      { type: "text", text: "thought" },
      { type: "done", text: "thought" },
    ]);
    const again = await stage.run("one two");
    expect(again.filter(({ type }) => type === "step")).toMatchObject([
      { step: { name: "read", phase: "start" } },
      { step: { phase: "end", output: "words" } },
    ]);
    expect(again.at(-2)).toEqual({ type: "usage", usage: { input: 100, output: 7, cacheRead: 40 } });
  });

  it("offers no file system and no terminal, and refuses them when asked nevertheless", async () => {
    const stage = openStage();
    expect(answerOf(await stage.run("reach"))).toBe("-32601 -32601");
    expect(stage.asked("initialize")[0].clientCapabilities).toEqual({ fs: { readTextFile: false, writeTextFile: false }, terminal: false });
  });

  it.each([
    ["max_tokens", { type: "done" }],
    ["max_turn_requests", { type: "error", kind: "step-limit" }],
    ["refusal", { type: "error", kind: "no-answer" }],
  ])("the stop reason %s has its own end", async (reason, end) => {
    expect((await openStage().run(`stop ${reason}`)).at(-1)).toMatchObject(end);
  });

  it.each([
    ["fail API Error: 429 too many", "rate-limit"],
    ["fail Error code: 401 bad key", "auth"],
    ["fail the prompt is too long: context length exceeded", "context"],
    ["fail invalid_request_error", "request"],
    ["die", "no-result"],
  ])("ENG-13 '%s' is a failure of the kind %s", async (prompt, kind) => {
    expect((await openStage().run(prompt)).at(-1)).toMatchObject({ type: "error", kind });
  });

  it("a picture goes to a program that takes some, and is named in the words otherwise", async () => {
    const data = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
    const media = [{ kind: "image", data }] as const;
    const [sees, blind] = [openStage({ image: true }), openStage()];
    await sees.run("look", { media });
    expect(sees.asked("session/prompt")[0].prompt?.[0]).toMatchObject({ type: "image", mimeType: "image/png" });
    await blind.run("look", { media });
    expect(blind.asked("session/prompt")[0].prompt).toMatchObject([{ type: "text", text: expect.stringContaining("1 pictures are not passed on") }]);
  });

  it("the tool servers of the workspace are handed over; one that the program cannot use is told once", async () => {
    const stage = openStage();
    writeFileSync(
      join(stage.workspace, ".mcp.json"),
      JSON.stringify({ mcpServers: { notes: { command: "notes", args: ["-x"], env: { A: "1" } }, far: { url: "https://far.test/mcp" } } }),
    );
    const events = await stage.run("hello", { settings: { persistentProcess: true } });
    const env = [
      { name: "A", value: "1" },
      { name: "SVC_TASK_ID", value: expect.stringMatching(/^task_/) },
    ];
    expect(stage.asked("session/new")[0].mcpServers).toEqual([{ name: "notes", command: "notes", args: ["-x"], env }]);
    expect(events[0]).toMatchObject({ type: "step", step: { name: "mcp far", error: expect.stringContaining("HTTP") } });
    expect((await stage.run("hello"))[0]).toMatchObject({ type: "session" });
  });
});

describe("permission", () => {
  const ask = async (permissionMode: string, question: string, traits: Traits = {}, more: Run = {}) => {
    const stage = openStage(traits);
    symlinkSync("/etc", join(stage.workspace, "out"));
    const prompt = `ask ${question.replace("WORKSPACE", stage.workspace)}`;
    const events = await stage.run(prompt, { ...more, settings: { permissionMode, mcp: { notes: {} }, ...more.settings } });
    return { events, answer: answerOf(events) };
  };

  it.each([
    ["bypassPermissions", "execute -", "allowed"],
    ["acceptEdits", "edit WORKSPACE/new/file.txt", "allowed"],
    ["acceptEdits", "edit file.txt", "allowed"],
    ["acceptEdits", "edit /etc/passwd", "refused"],
    ["acceptEdits", "edit WORKSPACE/../other", "refused"],
    ["acceptEdits", "edit out/passwd", "refused"],
    ["acceptEdits", "edit -", "refused"],
    ["acceptEdits", "execute file.txt", "refused"],
    ["acceptEdits", "delete file.txt", "refused"],
    ["default", "read file.txt", "refused"],
    ["default", "other - mcp__notes__add", "allowed"],
    ["default", "other - mcp__others__add", "refused"],
  ])("in %s '%s' is %s", async (mode, question, answer) => {
    const asked = await ask(mode, question);
    expect(asked.answer).toBe(answer);
    const refused = asked.events.filter((event) => event.type === "step" && event.step.error !== undefined);
    expect(refused.length).toBe(answer === "refused" ? 1 : 0);
  });

  it("plan needs a mode of the program, and refuses all that is asked", async () => {
    const { events } = await ask("plan", "read file.txt");
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "program", message: expect.stringMatching(/no mode 'plan'.*it has none.*modes/) });
    expect((await ask("plan", "read file.txt", { modes: ["build", "plan"] })).answer).toBe("refused");
  });

  it("a program that gives up after a refused call says which one", async () => {
    const { events } = await ask("default", "execute -", { sulks: true });
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "no-answer", message: expect.stringContaining("execute -") });
  });

  it("a held session goes back to the mode and the model that it was opened with where none is chosen any more", async () => {
    const stage = openStage({ modes: ["ask", "yolo"], models: ["one", "two"] });
    const kept = { persistentProcess: true };
    const first = await stage.run("hello", { settings: { ...kept, permissionMode: "bypassPermissions" }, model: "two" });
    const session = first.find((event) => event.type === "session")?.id as string;
    for (let turn = 0; turn < 2; turn += 1) await stage.run("hello", { settings: kept, session });
    expect(stage.asked("session/new")).toHaveLength(1);
    expect(stage.asked("session/set_mode").map(({ modeId }) => modeId)).toEqual(["yolo", "ask"]);
    expect(stage.asked("session/set_config_option")).toMatchObject([{ value: "two" }, { value: "one" }]);
  });

  it("chooses the program's own mode: a usual name, or the one that is set", async () => {
    const usual = openStage({ modes: ["default", "autoEdit", "plan", "yolo"] });
    for (const permissionMode of ["default", "acceptEdits", "plan", "bypassPermissions"]) await usual.run("hello", { settings: { permissionMode } });
    expect(usual.asked("session/set_mode").map(({ modeId }) => modeId)).toEqual(["default", "autoEdit", "plan", "yolo"]);
    const own = openStage({ modes: ["ask", "code"] });
    await own.run("hello", { section: { modes: { acceptEdits: "code" } }, settings: { permissionMode: "acceptEdits" } });
    expect(own.asked("session/set_mode").map(({ modeId }) => modeId)).toEqual(["code"]);
    const wrong = await own.run("hello", { settings: { permissionMode: "acceptEdits", acp: { modes: { acceptEdits: "architect" } } } });
    expect(wrong.at(-1)).toMatchObject({ type: "error", message: expect.stringContaining("'architect'; it has ask, code") });
  });
});

describe("sessions", () => {
  it.each([
    ["resumes", { resume: true }, "session/resume"],
    ["loads", { load: true }, "session/load"],
  ])("%s a session in a new process where the program can, and tells nothing twice", async (_, traits, method) => {
    const stage = openStage(traits);
    const first = await stage.run("remember the lamp");
    const again = await stage.run("recall", { session: sessionOf(first) });
    expect(answerOf(again)).toContain("remember the lamp");
    expect(answerOf(again)).not.toContain("an answer of the past");
    expect(stage.asked(method).length).toBe(1);
    expect(stage.asked("session/prompt")[1].prompt).toEqual([{ type: "text", text: "recall" }]);
    expect(sessionOf(again)).toBe(sessionOf(first));
  });

  it("tells a new session what was said before where the program can do neither, or has lost it", async () => {
    const stage = openStage({ load: true });
    const session = sessionOf(await stage.run("remember the lamp"));
    rmSync(join(stage.folder, "sessions.json"));
    const again = await stage.run("which lamp", { session });
    expect(again.at(-1)?.type).toBe("done");
    expect(stage.asked("session/prompt")[1].prompt?.[0]?.text).toMatch(/^You are Dan\.[\s\S]*User: remember the lamp[\s\S]*which lamp$/);
    expect(sessionOf(again)).toBe(session);
  });

  it("one process keeps the sessions of several conversations, and is told instructions and layers once", async () => {
    const stage = openStage();
    const settings = { persistentProcess: true };
    const layers = [{ name: "identity", priority: 4, text: "It is Dan who speaks." }];
    const session = sessionOf(await stage.run("one", { settings, layers }));
    await stage.run("two", { settings, layers, session });
    expect(stage.asked("initialize").length).toBe(1);
    expect(stage.asked("session/prompt").map(({ prompt }) => prompt?.[0]?.text)).toEqual(["You are Dan.\n\n---\n\nIt is Dan who speaks.\n\none", "two"]);
  });

  it("a stopped turn is told to the next session", async () => {
    const stage = openStage();
    const abort = new AbortController();
    const events = await stage.run("hang", { signal: abort.signal, listen: ({ type }) => type === "text" && abort.abort() });
    expect(events.at(-1)).toMatchObject({ type: "error", kind: "cancelled" });
    await stage.run("go on", { session: sessionOf(events) });
    expect(stage.asked("session/prompt")[1].prompt?.[0]?.text).toMatch(/User: hang[\s\S]*You: I begin\n\[I was stopped here/);
  });
});

describe("starting a program", () => {
  it("an agent's own program, arguments and variables stand before the section's", async () => {
    const stage = openStage();
    const own = { command: FAKE, env: { FAKE_TRAITS: '{"models":["one","two"]}' } };
    const events = await stage.run("hello", { section: { args: ["not mine"] }, settings: { acp: own }, model: "two" });
    expect(events.at(-1)?.type, JSON.stringify(events.at(-1))).toBe("done");
    expect(stage.asked("session/set_config_option")[0]).toMatchObject({ configId: "model", value: "two" });
    const wrong = await stage.run("hello", { settings: { acp: own }, model: "three" });
    expect(wrong.at(-1)).toMatchObject({ type: "error", message: expect.stringContaining("no model 'three'; it has one, two") });
  });

  it("RUN-12 a key is handed over only where the agent pays by it", async () => {
    const key = { env: { ACME_API_KEY: "sk-1" } };
    const refused = await openStage().run("hello", { section: key });
    expect(refused.at(-1)).toMatchObject({ type: "error", kind: "billing", message: expect.stringContaining("tiers.acp.env hands it ACME_API_KEY") });
    expect((await openStage().run("hello", { settings: { billing: "api" } })).at(-1)).toMatchObject({ type: "error", kind: "no-key" });
    expect((await openStage().run("hello", { section: key, settings: { billing: "api" } })).at(-1)?.type).toBe("done");
  });

  it("a program of another version, or that wants a sign-in first, is told", async () => {
    expect((await openStage({ version: 2 }).run("hello")).at(-1)).toMatchObject({
      type: "error",
      kind: "protocol",
      message: expect.stringContaining("speaks version 2"),
    });
    const locked = openStage({ authMethods: ["acme-login"] });
    expect((await locked.run("hello")).at(-1)).toMatchObject({ type: "error", kind: "auth", message: expect.stringContaining("acme-login") });
    expect((await locked.run("hello", { settings: { acp: { authMethod: "acme-login" } } })).at(-1)?.type).toBe("done");
  });

  it("the probe starts it, opens a session for an agent, and asks no model", async () => {
    const agent = (stage: Stage) => ({
      id: "dan",
      name: "Dan",
      workspace: stage.workspace,
      tier: "acp",
      mentions: [],
      access: "private" as const,
      settings: {},
    });
    const [well, locked] = [openStage(), openStage({ authMethods: ["acme-login"] })];
    expect(await well.start().tier.probe?.(agent(well))).toEqual({ ok: true, detail: `${process.execPath} fake-agent 1.2.3; a session can be opened` });
    expect(await locked.start().tier.probe?.(agent(locked))).toMatchObject({ ok: false, detail: expect.stringMatching(/fake-agent 1\.2\.3; .*not signed in/) });
    expect(well.asked("session/prompt")).toEqual([]);
    expect([...well.processes(), ...locked.processes()]).toEqual([]);
  });
});

describe("contracts", () => {
  const prompts = {
    works: { prompt: "one two three", answer: "one two three" },
    other: { prompt: "four five six", answer: "four five six" },
    endless: "hang",
  };

  tierContract(
    { describe, it },
    () => {
      const stage = openStage({ load: true });
      return { tier: stage.start().tier, ...prompts, fails: "fail", silent: ["silent"], idle: () => stage.processes().length === 0 };
    },
    { lacks: ["tokens of a cancelled run"] },
  );

  engineContract({ describe, it }, () => {
    const stage = openStage({ load: true });
    return {
      ...prompts,
      start: async (program) => stage.start(program),
      processes: stage.processes,
      shared: { persistentProcess: true },
      silent: "silent",
      recalls: { prompt: "recall", knew: (events) => answerOf(events).includes("four five six") },
    };
  });
});
