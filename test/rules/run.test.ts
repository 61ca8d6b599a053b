import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { definePlugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { ON_SERVER } from "../kit/test-store.ts";
import { hasten } from "../kit/time.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

describe("runs", () => {
  it("RUN-01 an engine that ignores its signal keeps the slot no longer than the grace period", async () => {
    const { kernel, message } = await runKernel();
    const cancelled = await hasten(async () => {
      const deaf = kernel.tasks.run(message("deaf"));
      await until(() => kernel.tasks.running().length === 1);
      expect(await kernel.tasks.cancel(kernel.tasks.running()[0]!.id)).toBe(true);
      return deaf;
    });
    expect(cancelled).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect((await kernel.tasks.run(message("next"))).reply).toBe("next");
  });

  it("RUN-02 RUN-03 a cancelled run is an error of kind cancelled, with two l", async () => {
    const { kernel, message } = await runKernel();
    const run = kernel.tasks.run(message("hold"));
    await until(() => kernel.tasks.running().length === 1);
    await kernel.tasks.cancel(kernel.tasks.running()[0]!.id, "changed my mind");
    const result = await run;
    expect(result).toMatchObject({ status: "error", errorKind: "cancelled", error: "cancelled: changed my mind" });
    expect(await kernel.traces.get(result.taskId)).toMatchObject({ status: "error", errorKind: "cancelled", response: "begun " });
  });

  it("RUN-02 RUN-04 ENG-20 a run over its limit is a time-out, its text in seconds, its exit code that of SIGTERM", async () => {
    const { kernel, message } = await runKernel();
    const result = await kernel.tasks.run(message("hold", { options: { timeoutMinutes: 1 / 60 } }));
    expect(result).toMatchObject({ status: "timeout", errorKind: "timeout", error: "timed out after 1s", exitCode: 143 });
    expect(await kernel.traces.get(result.taskId)).toMatchObject({ status: "timeout", exitCode: 143 });
  });

  it("RUN-05 FAULT-28 a preparation that stalls is tried once more, then recorded with the step and told once", async () => {
    let asked = 0;
    const slow = definePlugin({
      kind: "feature",
      name: "slow",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        ctx.hooks.assembleContext.tap(
          () => {
            asked += 1;
            return new Promise(() => {});
          },
          { step: "classify" },
        ),
    });
    const { kernel, message } = await runKernel({ inline: [slow as Plugin<never>], agent: { preSpawnTimeoutSec: 10 } });
    const heard: string[] = [];
    const steps = new Set<string | undefined>();
    const stalls = () => steps.add(kernel.tasks.running()[0]?.step).has("classify");
    const result = await hasten(() => kernel.tasks.run(message("hello"), (event) => heard.push(event.type)), stalls);
    expect(steps).toContain("classify");
    expect(asked).toBe(2);
    expect(result).toMatchObject({ status: "timeout", error: "timed out before spawn after 10s in step classify" });
    expect(heard.filter((type) => type === "started")).toHaveLength(1);
    const trace = await kernel.traces.get(result.taskId);
    expect(trace?.steps.filter((step) => step.error?.startsWith("timed out before spawn"))).toHaveLength(2);
  });

  it("RUN-05 FAULT-28 a slow step is skipped at its own limit and does not use up the whole", async () => {
    const slow = definePlugin({
      kind: "feature",
      name: "slow",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) => ctx.hooks.assembleContext.tap(() => new Promise(() => {}), { timeoutMs: 20 }),
    });
    const { kernel, message } = await runKernel({ inline: [slow as Plugin<never>] });
    const result = await kernel.tasks.run(message("hello"));
    expect(result).toMatchObject({ ok: true, reply: "hello" });
    expect((await kernel.traces.get(result.taskId))?.steps).toMatchObject([{ name: "slow", kind: "prepare", error: expect.stringContaining("skipped") }]);
  });

  it("RUN-06 the limit that a job brings is not shortened by the agent's maxExecutionMinutes", async () => {
    const { kernel, message } = await runKernel({ agent: { maxExecutionMinutes: 1 } });
    const timers = vi.spyOn(globalThis, "setTimeout");
    try {
      await kernel.tasks.run(message("job", { options: { timeoutMinutes: 120, scheduled: true } }));
      const limits = timers.mock.calls.map(([, ms]) => ms);
      expect(limits).toContain(7_200_000);
      // An idle connection of a pool is closed after a minute, too.
      if (ON_SERVER === undefined) expect(limits).not.toContain(60_000);
    } finally {
      timers.mockRestore();
    }
  });

  it("RUN-06 an agent's scheduled job has two hours at least, whatever it or its agent asks for", async () => {
    const { kernel, message } = await runKernel({ agent: { maxExecutionMinutes: 1 } });
    const timers = vi.spyOn(globalThis, "setTimeout");
    try {
      for (const options of [{ scheduled: true }, { scheduled: true, timeoutMinutes: 5 }, { scheduled: true, timeoutMinutes: 180 }])
        await kernel.tasks.run(message("job", { entry: "cron", options }));
      await kernel.tasks.run(message("heartbeat", { entry: "heartbeat", options: { scheduled: true } }));
      const limits = timers.mock.calls.map(([, ms]) => ms).filter((ms) => (ms ?? 0) >= 60_000);
      expect(limits).toEqual(expect.arrayContaining([7_200_000, 10_800_000, 60_000]));
      expect(limits).not.toContain(300_000);
    } finally {
      timers.mockRestore();
    }
  });

  it("CON-D7 API-09 a task that only waits is not followed up, and goes on waiting", async () => {
    const { kernel, tier, message } = await runKernel({ agent: { queueMode: "followup" } });
    const runs = [kernel.tasks.run(message("hold"))];
    await until(() => tier.held === 1);
    runs.push(kernel.tasks.run(message("waits")));
    await until(() => kernel.tasks.queued().length === 1);
    const [waiting] = kernel.tasks.queued();
    for (const replace of [true, false]) expect(await kernel.tasks.followup(waiting!.id, { text: "more", replace })).toBeUndefined();
    tier.release();
    expect((await Promise.all(runs)).map(({ ok }) => ok)).toEqual([true, true]);
    expect(tier.prompts).toEqual(["hold", "waits"]);
  });

  it("CRON-08 what a restricted run was kept from is in its record", async () => {
    const blocks = definePlugin({
      kind: "tier",
      name: "scripted",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup: (ctx) =>
        ctx.provide.tier({
          name: "scripted",
          abilities: { autonomy: ["report"] },
          async *run() {
            yield { type: "guard", level: "narrow", reason: "no bubblewrap" };
            yield { type: "blocked", tool: "Write", reason: "it only reports" };
            yield { type: "blocked", tool: "Bash", reason: "git push" };
            yield { type: "done", text: "reported" };
          },
        }),
    });
    const { kernel, message } = await runKernel({ tier: { ...scriptedTier(), plugin: blocks } });
    const { taskId } = await kernel.tasks.run(message("look", { options: { autonomy: "report" } }));
    expect(await kernel.traces.get(taskId)).toMatchObject({
      status: "ok",
      response: "reported",
      autonomyBlocks: [
        { tool: "Write", reason: "it only reports" },
        { tool: "Bash", reason: "git push" },
      ],
      guard: { level: "narrow", reason: "no bubblewrap" },
    });
  });

  it("RUN-07 collect answers all that arrived meanwhile with one turn, and each caller hears it", async () => {
    const { kernel, tier, message, events } = await runKernel();
    const runs = [kernel.tasks.run(message("hold"))];
    await until(() => tier.held === 1);
    for (const text of ["one", "two", "three"]) runs.push(kernel.tasks.run(message(text)));
    await until(() => events.filter(({ type }) => type === "task:queued").length === 3);
    tier.release();
    const [, ...answers] = await Promise.all(runs);
    expect(tier.prompts).toEqual(["hold", "one\n\ntwo\n\nthree"]);
    for (const answer of answers) expect(answer.reply).toBe("one\n\ntwo\n\nthree");
    const [lead, ...merged] = answers.map(({ taskId }) => taskId);
    expect(await kernel.traces.get(lead as string)).toMatchObject({ status: "ok", tasks: [lead, ...merged] });
    for (const id of merged) expect(await kernel.traces.get(id)).toMatchObject({ status: "ok", lead, response: "one\n\ntwo\n\nthree", attempts: 1 });
  });

  it("RUN-07 a collected turn names the tasks that it answers, and a cancel of one of them ends all", async () => {
    const { kernel, tier, message } = await runKernel();
    const runs = ["hold one"].map((text) => kernel.tasks.run(message(text)));
    await until(() => tier.held === 1);
    expect(kernel.tasks.running()[0]).not.toHaveProperty("with");
    for (const [at, text] of ["hold two", "three", "four"].entries()) {
      runs.push(kernel.tasks.run(message(text)));
      await until(() => kernel.tasks.queued().length === at + 1);
    }
    const [lead, ...others] = kernel.tasks.queued().map(({ id }) => id);
    tier.release();
    await until(() => kernel.tasks.running()[0]?.id === lead && tier.held === 1);
    expect(kernel.tasks.running()).toMatchObject([{ id: lead, with: others }]);
    expect(others).toHaveLength(2);
    expect(kernel.tasks.queued()).toEqual([]);
    expect(await kernel.tasks.cancel(others[0] as string)).toBe(true);
    for (const run of runs.slice(1)) expect(await run).toMatchObject({ ok: false, errorKind: "cancelled" });
    expect(kernel.tasks.running()).toEqual([]);
  });

  it("FLT-1 what comes in while a turn runs becomes turns of 50 messages and 64,000 characters, and is stored once", async () => {
    const folder = await temporaryFolder();
    const { kernel, tier, message, events } = await runKernel({ folder, dataFolder: join(folder, ".svc") });
    const runs = [kernel.tasks.run(message("hold"))];
    await until(() => tier.held === 1);
    for (let n = 0; n < 120; n += 1) runs.push(kernel.tasks.run(message(`${n} small`)));
    for (let n = 0; n < 40; n += 1) runs.push(kernel.tasks.run(message(`${n} ${"large ".repeat(1_000)}`)));
    await until(() => events.filter(({ type }) => type === "task:queued").length === 160);
    tier.release();
    const answers = await Promise.all(runs);
    expect(tier.turns.map(({ turn }) => turn.messages.length)).toEqual([1, 50, 50, 30, 10, 10, 10]);
    const [, first, second] = answers;
    expect(second).toMatchObject({ ok: true, reply: first?.reply });
    const rows = await kernel.traces.list({ limit: 1_000 });
    expect(rows.filter(({ response }) => response !== undefined)).toHaveLength(7);
    expect(rows.filter(({ tasks }) => tasks !== undefined)).toHaveLength(6);
    await kernel.stop();
    // 40 x 6 KB came in; each is stored as it came, once more with its turn's start and end, and once in an answer.
    if (ON_SERVER === undefined) expect((await stat(join(folder, ".svc/svc.db"))).size).toBeLessThan(3_000_000);
  });

  it("RUN-07 drop discards with an event, and keeps no text", async () => {
    const { kernel, tier, events, message } = await runKernel({ agent: { queueMode: "drop" } });
    const first = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const second = await kernel.tasks.run(message("SECRET-WORDS"));
    tier.release();
    await first;
    expect(second).toMatchObject({ ok: false, errorKind: "dropped" });
    expect(events.filter(({ type }) => type === "message:dropped")).toHaveLength(1);
    expect(await kernel.traces.get(second.taskId)).toBeUndefined();
  });

  it("RUN-08 only a message held for more than a minute starts with a note of arrival and run time", async () => {
    let now = Date.parse("2026-01-01T12:00:00Z");
    const { kernel, tier, message } = await runKernel({ agent: { queueMode: "followup" }, now: () => now });
    const runs = [kernel.tasks.run(message("hold"))];
    await until(() => tier.held === 1);
    runs.push(kernel.tasks.run(message("early")));
    await until(() => kernel.tasks.queued().length === 1);
    now += 2_000;
    runs.push(kernel.tasks.run(message("late")));
    await until(() => kernel.tasks.queued().length === 2);
    now += 59_000;
    tier.release();
    await Promise.all(runs);
    expect(tier.prompts[1]).toBe("[This message arrived at 2026-01-01 12:00:00 UTC and waited; it runs at 2026-01-01 12:01:01 UTC.]\nearly");
    expect(tier.prompts[2]).toBe("late");
  });

  it("RUN-09 at least one of the required tools must be used, although text came", async () => {
    const { kernel, message } = await runKernel({ agent: { toolUseRequired: ["search", "lookup"] } });
    expect(await kernel.tasks.run(message("plain words"))).toMatchObject({ ok: false, error: "tool_required_not_called", reply: "plain words" });
    expect(await kernel.tasks.run(message("tool lookup"))).toMatchObject({ ok: true });
    expect(await kernel.tasks.run(message("tool other"))).toMatchObject({ ok: false, error: "tool_required_not_called" });
  });

  it("RUN-10 a hand-off is refused when that many distinct other agents worked on the chain; 0 switches the check off", async () => {
    const { kernel, message } = await runKernel({ agent: { maxDelegationDepth: 2 } });
    const chain = (...ids: string[]) => kernel.tasks.run(message("hello", { options: { chain: ids } }));
    expect((await chain("b", "b", "a", "a")).ok).toBe(true);
    expect(await chain("b", "c", "b")).toMatchObject({ ok: false, error: expect.stringContaining("maxDelegationDepth") });
    const off = await runKernel({ agent: { maxDelegationDepth: 0 } });
    expect((await off.kernel.tasks.run(off.message("hello", { options: { chain: ["b", "c", "d", "e", "f", "g"] } }))).ok).toBe(true);
  });

  it("RUN-11 an intent outside the list is rejected; no intent is accepted", async () => {
    const { kernel, tier, message } = await runKernel({ agent: { intents: ["issue.opened"] } });
    expect((await kernel.tasks.run(message("plain"))).ok).toBe(true);
    expect((await kernel.tasks.run(message("wanted", { options: { intent: "issue.opened" } }))).ok).toBe(true);
    expect(await kernel.tasks.run(message("unwanted", { options: { intent: "issue.closed" } }))).toMatchObject({
      ok: false,
      error: expect.stringContaining("issue.closed"),
    });
    expect(tier.prompts).toEqual(["plain", "wanted"]);
  });

  it("CRON-08 a restricted run on a tier that cannot enforce it fails and never starts; one that can runs", async () => {
    const { kernel, tier, message } = await runKernel();
    for (const autonomy of ["report", "propose"] as const) {
      expect(await kernel.tasks.run(message("hello", { options: { autonomy } }))).toMatchObject({
        ok: false,
        error: expect.stringContaining("cannot enforce"),
      });
    }
    expect(tier.prompts).toEqual([]);
    const strict = await runKernel({ tier: scriptedTier("scripted", { enforcesAutonomy: true }) });
    expect((await strict.kernel.tasks.run(strict.message("hello", { options: { autonomy: "report" } }))).ok).toBe(true);
  });

  it.each([
    ["fail", "the engine said no", "engine"],
    ["throw", "the engine broke", "tier"],
    ["silent", "The engine stopped without a result.", "no-result"],
  ])("FAULT-26 an engine that ends with '%s' is an error with words, and the next task runs", async (prompt, error, errorKind) => {
    const { kernel, message } = await runKernel();
    expect(await kernel.tasks.run(message(prompt))).toMatchObject({ ok: false, status: "error", error, errorKind });
    expect((await kernel.tasks.run(message("after"))).ok).toBe(true);
  });

  it("TRC-02 the row is there in flight from the start, and whole at the end", async () => {
    const { kernel, tier, message } = await runKernel();
    const run = kernel.tasks.run(message("hold the line"));
    await until(() => tier.held === 1);
    const id = kernel.tasks.running()[0]!.id;
    expect(await kernel.traces.get(id)).toMatchObject({ status: "in-flight", message: "hold the line" });
    tier.release("it rang");
    await run;
    expect(await kernel.traces.get(id)).toMatchObject({ status: "ok", response: "begun it rang", attempts: 1 });
  });

  it("TRC-01 a long message in several scripts is kept whole", async () => {
    const { kernel, message } = await runKernel();
    const text = "Ελληνικά 中文 العربية Кириллица ".repeat(400);
    const { taskId, reply } = await kernel.tasks.run(message(text));
    expect(reply).toBe(text);
    expect(await kernel.traces.get(taskId)).toMatchObject({ message: text, response: text });
  });
});

describe("bots", () => {
  it("a bot that answers an agent again and again is dropped, people never are", async () => {
    const { kernel, tier, events, message } = await runKernel();
    const say = (bot: boolean) => kernel.tasks.run(message("ping", { entry: "channel", channel: "acme", sender: { id: bot ? "b" : "p", bot } }));
    for (let turn = 0; turn < 14; turn += 1) await say(true);
    expect(tier.prompts).toHaveLength(10);
    expect(events.filter(({ type }) => type === "message:dropped")).toHaveLength(4);
    for (let turn = 0; turn < 14; turn += 1) expect((await say(false)).ok).toBe(true);
  });
});
