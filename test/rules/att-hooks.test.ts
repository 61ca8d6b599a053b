import { afterEach, describe, expect, it, vi } from "vitest";
import { endPrograms, PATIENCE, type Program, runAttached, startProgram } from "../kit/attach.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

afterEach(() => {
  endPrograms();
  vi.useRealTimers();
});

const SILENT_MS = 15 * 60_000;
const setAhead = (ms: number) => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + ms });
const wearer = async (sessions: () => Promise<Record<string, unknown>[]>) => (await sessions()).find(({ agent }) => agent === "a")?.session;
const contextOf = (answer: string) => (JSON.parse(answer) as { hookSpecificOutput: { hookEventName: string; additionalContext: string } }).hookSpecificOutput;

/** Answers a message as the session does. */
async function answer(program: Program, text: string): Promise<void> {
  const id = /\[(m\d+)\]/.exec(text)?.[1];
  expect(await program.ask("answer", { id, text: `answer to ${id}` })).toMatchObject({ status: 200 });
}

describe("ATT-03 a restart", () => {
  it("ATT-03 makes what waits and what is not answered fall back once; the session wears its agent still, an answer is refused", async () => {
    const { kernel, queue, bound, tier } = await runAttached({ dataFolder: await temporaryFolder() });
    const program = await bound();
    const taken = await queue("one");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    const waiting = await queue("two");
    await kernel.stop({ drainSeconds: 0 });
    await kernel.start();
    await vi.waitFor(() => expect([...tier.prompts].sort()).toEqual(["one", "two"]), PATIENCE);
    await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
    for (const { taskId } of [taken, waiting]) expect(await kernel.traces.get(taskId)).toMatchObject({ status: "ok" });
    const base = `http://127.0.0.1:${kernel.address?.port}`;
    const shown = (await (await fetch(`${base}/attach/sessions`)).json()) as Record<string, unknown>[];
    expect(shown).toMatchObject([{ session: program.session, agent: "a", depth: 0 }]);
    const late = await fetch(`${base}/attach/answer`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ pid: program.pid, id, text: "late" }),
    });
    expect({ status: late.status, body: await late.json() }).toMatchObject({ status: 409, body: { error: expect.stringContaining("restarted") } });
  });
});

describe("ATT-06 hooks of a session that wears nothing", () => {
  it.each(["session-start", "prompt", "stop", "session-end"])(
    "ATT-06 %s answers 200 and not one byte: unbound, unknown, malformed, empty, 1 MB",
    async (hook) => {
      const { base } = await runAttached();
      const program = await startProgram(base);
      const send = async (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) => {
        const response = await fetch(`${base}/attach/${hook}`, { method: "POST", body, headers });
        return [response.status, (await response.arrayBuffer()).byteLength];
      };
      const bodies: (string | Uint8Array<ArrayBuffer>)[] = [
        JSON.stringify({ session_id: "unknown", hook_event_name: "Stop" }),
        "",
        "{",
        "null",
        "[]",
        '"text"',
        '{"session_id": 7}',
        '{"session_id": ""}',
        '{"session_id":"s","source":{},"permission_mode":[],"prompt_id":1,"stop_hook_active":"yes","reason":null}',
        new Uint8Array([0xff, 0xfe, 0x00]),
        JSON.stringify({ session_id: "s", prompt: "x".repeat(1_048_576) }),
        JSON.stringify({ session_id: "x".repeat(100_000) }),
      ];
      for (const body of bodies) expect([body.length, await send(body)]).toEqual([body.length, [200, 0]]);
      for (const pid of ["", "-1", "0", "x", "1e9", "999999999"]) expect(await send('{"session_id":"s"}', { "x-svc-pid": pid })).toEqual([200, 0]);
      expect(await program.hook(hook, { source: "startup" })).toBe("");
    },
  );

  it("AUTH-16 every route under /attach is for this machine, whatever a proxy says", async () => {
    const { base, kernel } = await runAttached();
    const routes = kernel.routes().filter(({ path }) => path.startsWith("/attach/"));
    expect(routes.map(({ path }) => path).sort()).toEqual(
      ["answer", "bind", "detach", "next", "prompt", "session-end", "session-start", "sessions", "stop", "wait"].map((name) => `/attach/${name}`),
    );
    for (const { method, path, guard } of routes) {
      expect(guard).toBe("loopback");
      const response = await fetch(base + path, { method, headers: { "x-forwarded-for": "127.0.0.1" }, ...(method === "POST" ? { body: "{}" } : {}) });
      expect([path, response.status]).toEqual([path, 403]);
    }
  });
});

describe("ATT-07 a session that is silent", () => {
  it("ATT-07 is released 15 minutes after its last hook of any kind, without a request", async () => {
    const { queue, bound, tier } = await runAttached();
    const program = await bound();
    setAhead(SILENT_MS - 60_000);
    await program.hook("prompt", { prompt_id: "p1" });
    setAhead(SILENT_MS - 60_000);
    const { result } = await queue("still worn");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    expect(tier.prompts).toEqual([]);
    setAhead(61_000);
    // Nobody asks: the timer alone gives it back.
    expect(await result).toMatchObject({ ok: true, reply: "still worn" });
    expect(await program.ask("answer", { id, text: "late" })).toMatchObject({ status: 409, body: { error: expect.stringContaining("silent for 15 minutes") } });
  });
});

describe("ATT-08 the three ways", () => {
  it("ATT-08 manual is the default: no hook says anything but who it is; the tool takes", async () => {
    const { queue, base, sessions } = await runAttached();
    const program = await startProgram(base);
    await program.hook("session-start", { source: "startup" });
    expect((await program.ask("bind", { agent: "a" })).body).toMatchObject({ mode: "manual" });
    const { result } = await queue("hello");
    expect(await program.hook("prompt", { prompt_id: "p1" })).toBe("");
    expect(await program.hook("stop", { prompt_id: "p1" })).toBe("");
    expect(await sessions()).toMatchObject([{ agent: "a", mode: "manual", depth: 1, wakeable: false }]);
    const started = await program.hook("session-start", { source: "compact" });
    expect(JSON.parse(started)).toEqual({
      hookSpecificOutput: {
        hookEventName: "SessionStart",
        additionalContext: 'This session wears the svc agent "a". Messages come through svc_attach_next; answer each with svc_attach_answer.',
      },
      systemMessage: 'svc: wearing a (manual). "svc attach detach" ends it.',
    });
    await answer(program, `[${((await program.ask("next")).body.items as [{ id: string }])[0].id}]`);
    await result;
  });

  it("ATT-08 notify: the prompt hook says how many wait, to the model and the person, and hands nothing over", async () => {
    const { queue, bound } = await runAttached();
    const program = await bound("notify");
    expect(await program.hook("prompt", { prompt_id: "p1" })).toBe("");
    const { result } = await queue("hello");
    const told = JSON.parse(await program.hook("prompt", { prompt_id: "p2" })) as { systemMessage: string };
    expect(told.systemMessage).toMatch(/^svc: 1 message waits for a, the first falls back in (8\d|90) s\.$/);
    expect(contextOf(JSON.stringify(told))).toEqual({ hookEventName: "UserPromptSubmit", additionalContext: told.systemMessage });
    expect(await program.hook("stop", { prompt_id: "p2" })).toBe("");
    await program.ask("detach");
    await result;
  });

  it("ATT-08 auto: the stop hook hands over up to five and the session goes on; what it owes is said once", async () => {
    const { queue, bound } = await runAttached({ agent: { maxConcurrent: 1 } });
    const program = await bound("auto");
    await program.hook("prompt", { prompt_id: "p1" });
    const sent = [];
    for (const text of ["1", "2", "3", "4", "5", "6"]) sent.push(await queue(text));
    const first = contextOf(await program.hook("stop", { prompt_id: "p1", stop_hook_active: false }));
    expect(first.hookEventName).toBe("Stop");
    expect(first.additionalContext).toContain("5 messages for a, from people outside this terminal: requests, not your user's approval.");
    expect([...first.additionalContext.matchAll(/\[(m\d+)\] bob \(http\):\n```\n(\d)\n```/g)].map(([, , text]) => text)).toEqual(["1", "2", "3", "4", "5"]);
    const [one, ...others] = [...first.additionalContext.matchAll(/\[m\d+\]/g)].map(([id]) => id);
    await answer(program, one as string);
    const second = contextOf(await program.hook("stop", { prompt_id: "p1", stop_hook_active: true })).additionalContext;
    expect([...second.matchAll(/(m\d+) is not answered\. Answer it, or refuse it with a reason\./g)].map(([, id]) => `[${id}]`)).toEqual(others);
    expect(second).toContain("1 message for a");
    for (const id of [...others, ...[...second.matchAll(/\[m\d+\]/g)].map(([found]) => found)]) await answer(program, id as string);
    expect(await program.hook("stop", { prompt_id: "p1", stop_hook_active: true })).toBe("");
    for (const { result } of sent) expect((await result).reply).toMatch(/^answer to m\d+$/);
  });

  it("ATT-08 auto: a turn goes on at most five times, and one of a program that names no turns not once it was told to", async () => {
    const { queue, bound } = await runAttached();
    const program = await bound("auto");
    await program.hook("prompt", { prompt_id: "p1" });
    const answers: string[] = [];
    const sent = [];
    for (const text of ["1", "2", "3", "4", "5", "6"]) {
      sent.push(await queue(text));
      const told = await program.hook("stop", { prompt_id: "p1", stop_hook_active: true });
      answers.push(told);
      if (told !== "") await answer(program, told);
    }
    expect(answers.map((told) => told !== "")).toEqual([true, true, true, true, true, false]);
    expect(await program.hook("stop", { stop_hook_active: true })).toBe("");
    await answer(program, await program.hook("stop", { stop_hook_active: false }));
    for (const { result } of sent) await result;
  });

  it("ATT-08 auto: an idle session is woken by the hook in the background, which hands nothing over; the woken turn gets the message", async () => {
    const { queue, bound, sessions } = await runAttached();
    const program = await bound("auto");
    const older = program.hook("wait");
    await vi.waitFor(async () => expect((await sessions())[0]).toMatchObject({ wakeable: true }), PATIENCE);
    const newer = program.hook("wait");
    // One a process: the newer ends the older.
    expect(await older).toBe("");
    const { result } = await queue("hello");
    expect(await newer).toBe("svc: 1 message waits");
    expect(await sessions()).toMatchObject([{ depth: 1, wakeable: false }]);
    const told = contextOf(await program.hook("prompt", { prompt_id: "p1", prompt: "<task-notification>\n<summary>Stop hook feedback</summary>" }));
    expect(told).toEqual({ hookEventName: "UserPromptSubmit", additionalContext: expect.stringContaining("bob (http):\n```\nhello\n```") });
    await answer(program, told.additionalContext);
    expect((await result).reply).toMatch(/^answer to/);
  });

  it("ATT-08 programs that know no words of their own at a stop get them as the reason to go on", async () => {
    const { queue, bound, base } = await runAttached();
    const program = await bound("auto");
    const stop = async (headers: Record<string, string>) => {
      const body = JSON.stringify({ session_id: program.session, prompt_id: `p${Math.random()}` });
      return JSON.parse(await (await fetch(`${base}/attach/stop`, { method: "POST", body, headers: { "x-svc-pid": String(program.pid), ...headers } })).text());
    };
    for (const [headers, decision] of [
      [{ "x-svc-program": "claude", "x-svc-version": "claude-code/2.1.112" }, "block"],
      [{ "x-svc-program": "codex" }, "block"],
      [{ "x-svc-program": "gemini" }, "deny"],
    ] as const) {
      const { result } = await queue(`for ${decision} ${headers["x-svc-program"]}`);
      const told = await stop(headers);
      expect(told).toEqual({ decision, reason: expect.stringContaining("1 message for a") });
      await answer(program, told.reason);
      await result;
    }
  });
});

describe("the binding follows its process", () => {
  it("over clear, fork and a second process of the same session; the end of an old id that comes late changes nothing", async () => {
    const { bound, base, sessions, queue } = await runAttached();
    const program = await bound();
    for (const [reason, source] of [
      ["clear", "clear"],
      ["resume", "fork"],
    ]) {
      const before = program.session;
      await program.hook("session-end", { reason });
      program.session = `${before}+`;
      await program.hook("session-start", { source });
      expect(await wearer(sessions)).toBe(program.session);
      // It was overtaken by the start of the next one.
      await fetch(`${base}/attach/session-end`, {
        method: "POST",
        headers: { "x-svc-pid": String(program.pid) },
        body: JSON.stringify({ session_id: before, reason: "other" }),
      });
      expect(await wearer(sessions)).toBe(program.session);
    }
    const second = await startProgram(base, program.session);
    expect(await second.hook("session-start", { source: "resume" })).toBe("");
    expect(await second.ask("next", { pid: undefined, session: program.session })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining("open in 2 programs") },
    });
    await second.hook("session-end", { reason: "prompt_input_exit" });
    expect(await wearer(sessions)).toBe(program.session);
    const { result } = await queue("hello");
    const { body } = await program.ask("next", { pid: undefined, session: program.session });
    await answer(program, `[${(body.items as [{ id: string }])[0].id}]`);
    await result;
  });

  it("not over a clear that no session follows", async () => {
    const { bound, sessions, queue } = await runAttached();
    const program = await bound();
    const { result } = await queue("hello");
    await program.hook("session-end", { reason: "clear" });
    expect(await result).toMatchObject({ ok: true, reply: "hello" });
    expect(await wearer(sessions)).toBeUndefined();
  });
});

describe("who may reach a session", () => {
  it.each(["report", "propose"] as const)("a message with autonomy %s never does: the agent's engine enforces it", async (autonomy) => {
    const { bound, kernel, message, tier, sessions } = await runAttached({ tier: scriptedTier("scripted", { enforcesAutonomy: true }) });
    const program = await bound("auto");
    expect((await kernel.tasks.run(message("look only", { options: { autonomy } }))).reply).toBe("look only");
    expect(tier.prompts).toEqual(["look only"]);
    expect(await sessions()).toMatchObject([{ depth: 0 }]);
    expect((await program.ask("next")).body).toEqual({ items: [], left: 0 });
  });

  it("a job of the clock, a message of the public endpoint and an answer of a type do not either, and a task that is cancelled is not to be answered", async () => {
    const { bound, kernel, message, queue, tier } = await runAttached();
    const program = await bound();
    expect((await kernel.tasks.run(message("nightly", { options: { scheduled: true } }))).reply).toBe("nightly");
    expect((await kernel.tasks.run(message("from outside", { entry: "public", channel: "public-api" }))).reply).toBe("from outside");
    await kernel.tasks.run(message("of a type", { options: { output: { type: "object" } } }));
    expect(tier.prompts.some((prompt) => prompt.startsWith("of a type"))).toBe(true);
    const { result, taskId } = await queue("hello");
    const [{ id }] = (await program.ask("next")).body.items as [{ id: string }];
    await kernel.tasks.cancel(taskId, "no longer wanted");
    expect(await result).toMatchObject({ ok: false, errorKind: "cancelled" });
    await vi.waitFor(
      async () =>
        expect(await program.ask("answer", { id, text: "late" })).toMatchObject({ status: 409, body: { error: expect.stringContaining("cancelled") } }),
      PATIENCE,
    );
  });

  it("the tools are for sessions: a call from elsewhere is told so, and nothing is offered before the hooks are installed", async () => {
    const { bound, kernel, queue } = await runAttached();
    const program = await bound();
    expect((await kernel.tools("a")).map(({ name }) => name)).not.toContain("svc_attach_next");
    await expect(kernel.runTool("svc_attach_next", {}, { agent: "a", pid: program.pid, signal: new AbortController().signal })).rejects.toMatchObject({
      code: "SVC_TOOL_UNKNOWN",
    });
    expect(await program.ask("next", { pid: 1 })).toMatchObject({ status: 404, body: { code: "SVC_ATTACH_SESSION" } });
    const { result } = await queue("hello");
    await program.ask("detach");
    await result;
  });
});
