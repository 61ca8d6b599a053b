import { join } from "node:path";
import { definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { type Running, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";
import { copyState } from "../kit/test-store.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

/** Leaves a task unfinished the way a crash does: the folder is copied while its turn runs. */
async function crashed(make: (running: Running) => Promise<void>, options: Parameters<typeof runKernel>[0] = {}): Promise<string> {
  const folder = await temporaryFolder();
  const running = await runKernel({ ...options, folder, dataFolder: join(folder, ".svc") });
  await make(running);
  const copy = await temporaryFolder();
  await copyState(join(folder, ".svc"), join(copy, ".svc"));
  await running.kernel.stop({ drainSeconds: 0 });
  return copy;
}

/** A channel that keeps what it sends. */
const mailTo = (sent: string[]) =>
  definePlugin({
    kind: "channel",
    name: "mail",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      const traits = { maxChars: 1_000, unit: "codepoint", dialect: "plain" } as const;
      const handle = ctx.provide.channel({ name: "mail", traits, send: async ({ text }) => ({ platformId: `${sent.push(text)}` }) });
      return { start: async () => handle.ready() };
    },
  }) as Plugin<never>;

const startOn = (folder: string, options: Parameters<typeof runKernel>[0] = {}) => runKernel({ ...options, folder, dataFolder: join(folder, ".svc") });

async function leaveHolding(running: Running, extra = {}): Promise<void> {
  void running.kernel.tasks.run(running.message("hold", extra));
  await until(() => running.tier.held === 1);
  // The start of the turn is stored without being waited for; this is behind it.
  await running.kernel.tasks.accept(running.message("marker", { agent: "nobody" }));
}

describe("stop", () => {
  it("OPS-01 refuses new work, waits for what runs, and leaves what waits for the next start", async () => {
    const folder = await temporaryFolder();
    const { kernel, tier, message } = await startOn(folder, { agent: { queueMode: "followup" } });
    const first = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const second = kernel.tasks.run(message("later"));
    await until(() => kernel.tasks.queued().length === 1);
    const stopped = kernel.stop();
    await expect(kernel.tasks.run(message("too late"))).rejects.toMatchObject({ code: "SVC_DAEMON_DRAINING", status: 503 });
    tier.release("finished");
    expect(await first).toMatchObject({ ok: true, reply: "begun finished" });
    await stopped;
    const left = await second;
    expect(left).toMatchObject({ ok: false, errorKind: "interrupted" });
    expect(tier.prompts).toEqual(["hold"]);

    const again = await startOn(folder);
    await until(() => again.tier.prompts.length === 1 && again.kernel.tasks.running().length + again.kernel.tasks.queued().length === 0);
    expect(await again.kernel.traces.get(left.taskId)).toMatchObject({ status: "ok", response: "later" });
    expect(again.kernel.health().problems).toEqual([]);
  });

  it("OPS-01 what runs longer than the drain is interrupted and taken up again at the next start", async () => {
    const folder = await temporaryFolder();
    const { kernel, tier, message } = await startOn(folder);
    const run = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    await kernel.stop({ drainSeconds: 0 });
    const result = await run;
    expect(result).toMatchObject({ ok: false, errorKind: "interrupted" });

    const again = await startOn(folder);
    await until(() => again.tier.held === 1);
    again.tier.release("done after all");
    await until(() => again.kernel.tasks.running().length === 0);
    expect(await again.kernel.traces.get(result.taskId)).toMatchObject({ status: "ok", response: "begun done after all", attempts: 2 });
  });

  it("OPS-03 a scheduled run that waits or runs at a stop is not run late: it is recorded as interrupted, and says whether it had begun", async () => {
    const folder = await temporaryFolder();
    const { kernel, tier, message } = await startOn(folder, { agent: { queueMode: "followup" } });
    const job = { options: { scheduled: true } };
    const runs = [kernel.tasks.run(message("hold", job))];
    await until(() => tier.held === 1);
    runs.push(kernel.tasks.run(message("later", job)));
    await until(() => kernel.tasks.queued().length === 1);
    await kernel.stop({ drainSeconds: 0 });
    const [begun, waiting] = await Promise.all(runs);
    for (const left of [begun, waiting]) expect(left).toMatchObject({ errorKind: "interrupted", error: expect.stringContaining("not taken up again") });

    const again = await startOn(folder);
    expect(again.tier.prompts).toEqual([]);
    const errorOf = async (task: string) => await again.kernel.traces.get(task);
    expect(await errorOf(begun?.taskId ?? "")).toMatchObject({
      status: "error",
      errorKind: "interrupted",
      error: expect.not.stringContaining("had not begun"),
    });
    expect(await errorOf(waiting?.taskId ?? "")).toMatchObject({ status: "error", errorKind: "interrupted", error: expect.stringContaining("had not begun") });
  });

  it("OPS-01 waits the larger of the global time and that of a busy agent", async () => {
    const { kernel, tier, message } = await runKernel({ agent: { drainTimeoutSeconds: 600 }, config: { shutdown: { drainTimeoutSeconds: 0 } } });
    const run = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const stopped = kernel.stop();
    await new Promise((resolve) => setTimeout(resolve, 100));
    tier.release();
    expect((await run).ok).toBe(true);
    await stopped;
  });
});

describe("resume after a crash", () => {
  it("OPS-03 FAULT-05 a running task is run once more, with the attempt counted, and no trace stays in flight", async () => {
    const folder = await crashed(leaveHolding);
    const { kernel, tier } = await startOn(folder);
    await until(() => tier.held === 1);
    expect(tier.turns[0]?.turn.messages[0]).toMatchObject({ attempts: 1, text: "hold" });
    tier.release("resumed");
    await until(() => kernel.tasks.running().length === 0);
    expect(await kernel.traces.list({ status: "in-flight" })).toEqual([]);
    expect((await kernel.traces.list({ status: "ok" }))[0]).toMatchObject({ attempts: 2, response: "begun resumed" });
  });

  it.each<[string, object, object, string]>([
    ["maxAttempts reached", { resume: { maxAttempts: 0 } }, {}, "interrupted 1 times"],
    ["resume switched off", { resume: { enabled: false } }, {}, "resume is switched off"],
    ["a channel that is only reported", { resume: { reportOnlyChannels: ["http"] } }, {}, "reportOnlyChannels"],
    ["a scheduled job", {}, { options: { scheduled: true } }, "scheduled jobs are not resumed"],
  ])("OPS-03 %s: it is closed as interrupted and not run", async (_name, config, extra, reason) => {
    const folder = await crashed((running) => leaveHolding(running, extra));
    const { kernel, tier } = await startOn(folder, { config: config as Record<string, unknown> });
    expect(tier.prompts).toEqual([]);
    expect(await kernel.traces.list({ status: "in-flight" })).toEqual([]);
    const [trace] = (await kernel.traces.list({ status: "error" })).filter(({ message }) => message === "hold");
    expect(trace).toMatchObject({ errorKind: "interrupted" });
    expect(trace?.error).toContain(reason);
  });

  it("OPS-03 a channel of directChannels: it is resumed and recorded, and its answer is not delivered", async () => {
    const sent: string[] = [];
    const mail = mailTo(sent);
    const byMail = { entry: "channel", channel: "mail" };
    for (const [directChannels, answers] of [
      [["mail"], []],
      [[], ["begun resumed"]],
    ] as const) {
      sent.length = 0;
      const folder = await crashed((running) => leaveHolding(running, byMail));
      const { kernel, tier } = await startOn(folder, { inline: [mail], config: { resume: { directChannels } } });
      await until(() => tier.held === 1);
      tier.release("resumed");
      await until(() => kernel.tasks.running().length === 0);
      expect((await kernel.traces.list({ status: "ok" }))[0]).toMatchObject({ channel: "mail", attempts: 2, response: "begun resumed" });
      await kernel.stop();
      expect(sent).toEqual(answers);
    }
  });

  it("FLT-1 many messages of one chat that are not resumed are told in one notice, and each says why", async () => {
    const sent: string[] = [];
    const mail = mailTo(sent);
    const folder = await crashed(async (running) => {
      for (const text of ["hold", "2", "3"]) void running.kernel.tasks.run(running.message(text, { entry: "channel", channel: "mail", sender: { id: "ann" } }));
      void running.kernel.tasks.run(running.message("4", { entry: "channel", channel: "mail", sender: { id: "bob" } }));
      await until(() => running.tier.held === 1 && running.kernel.tasks.queued().length === 3);
    });
    const { kernel } = await startOn(folder, { inline: [mail], now: () => Date.now() + 31 * 60_000 });
    const traces = await kernel.traces.list();
    expect(traces.map(({ status }) => status)).toEqual(["error", "error", "error", "error"]);
    for (const { id } of traces)
      expect(await kernel.traces.get(id)).toMatchObject({ errorKind: "interrupted", error: expect.stringContaining("older than 30") });
    await until(() => sent.length === 2);
    await kernel.stop();
    expect(sent).toHaveLength(2);
  });

  it("OPS-03 work older than maxAgeMinutes is reported, not resumed; an agent-to-agent run is resumed all the same", async () => {
    const later = () => Date.now() + 31 * 60_000;
    const old = await startOn(await crashed(leaveHolding), { now: later });
    expect(old.tier.prompts).toEqual([]);
    const asked = await startOn(await crashed((running) => leaveHolding(running, { options: { askedBy: "b" } })), { now: later });
    await until(() => asked.tier.prompts.length === 1);
    expect(asked.tier.prompts[0]).toMatch(/^\[This message arrived at .*\]\nhold$/);
  });

  it("OPS-03 FAULT-08 three starts after a crash within ten minutes pause resuming, with an event", async () => {
    let folder = await crashed(leaveHolding);
    for (let restart = 0; restart < 2; restart += 1) {
      const running = await startOn(folder, { config: { resume: { maxAttempts: 10 } } });
      await until(() => running.tier.held === 1);
      await running.kernel.tasks.accept(running.message("marker", { agent: "nobody" }));
      const copy = await temporaryFolder();
      await copyState(join(folder, ".svc"), join(copy, ".svc"));
      folder = copy;
    }
    const { kernel, tier, events } = await startOn(folder, { config: { resume: { maxAttempts: 10 } } });
    expect(tier.prompts).toEqual([]);
    expect(events.some(({ data }) => data?.state === "resume-paused")).toBe(true);
    expect(await kernel.traces.list({ status: "in-flight" })).toEqual([]);
    expect((await kernel.tasks.run({ entry: "task", channel: "http", chat: "x", text: "alive", agent: "a" })).ok).toBe(true);
  });

  it("FAULT-01 what was accepted and not started is run after the restart, and its sender's retry is not run again", async () => {
    const folder = await crashed(async (running) => {
      void running.kernel.tasks.run(running.message("hold"));
      await until(() => running.tier.held === 1);
      await running.kernel.tasks.accept(running.message("waiting", { dedupKey: "delivery-7" }));
    });
    const { kernel, tier, message } = await startOn(folder, { agent: { maxConcurrent: 2 } });
    const retry = await kernel.tasks.accept(message("waiting", { dedupKey: "delivery-7" }));
    expect(retry.duplicate).toBe(true);
    await until(() => tier.held === 1);
    tier.release();
    await until(() => tier.prompts.includes("waiting"));
    expect(tier.prompts.filter((prompt) => prompt.includes("waiting"))).toHaveLength(1);
    await until(() => kernel.tasks.running().length === 0);
    expect(await kernel.traces.get(retry.taskId)).toMatchObject({ status: "ok", response: "waiting" });
  });

  it("OPS-03 FAULT-01 what was accepted side by side, or is kept by a tap, has used up no try until its turn begins", async () => {
    const keeps = {
      ...{ kind: "feature", name: "keeps", version: "1.0.0", svc: "^0.1.0", capabilities: [] },
      setup: (ctx: PluginContext) => ctx.hooks.route.tap(({ text }) => (text === "kept" ? new Promise<undefined>(() => {}) : undefined)),
    } as unknown as Plugin<never>;
    const make = async ({ kernel, tier, message }: Running) => {
      await kernel.tasks.run(message("before"));
      // The lane is free when both come in; the second has to wait all the same.
      void kernel.tasks.run(message("hold"));
      await Promise.all([kernel.tasks.accept(message("second")), kernel.tasks.accept(message("kept", { chat: "other" }))]);
      await until(() => tier.held === 1);
    };
    const folder = await crashed(make, { inline: [keeps], agent: { maxConcurrent: 4, queueMode: "followup" } });
    const { kernel, tier } = await startOn(folder, { agent: { maxConcurrent: 4, queueMode: "followup" }, config: { resume: { enabled: false } } });
    await until(() => tier.prompts.length === 2 && kernel.tasks.running().length === 0);
    expect(tier.prompts.toSorted()).toEqual(["kept", "second"]);
    expect((await kernel.traces.list({ status: "ok" })).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    expect(await kernel.traces.list({ status: "error" })).toMatchObject([{ message: "hold", errorKind: "interrupted" }]);
  });
});

describe("one broken plugin", () => {
  const good = scriptedTier();
  const plugin = (name: string, setup: () => unknown, extra = {}) =>
    ({ kind: "feature", name, version: "1.0.0", svc: "^0.1.0", capabilities: [], setup, ...extra }) as unknown as Plugin<never>;

  it("FAULT-61 FAULT-62 throwing, never resolving or written for another sdk: listed as failed with the reason, the daemon answers", async () => {
    const kernel = await createTestKernel({
      config: { node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } } },
      plugins: [
        plugin("throws", () => {
          throw new Error("no luck");
        }),
        plugin("hangs", () => new Promise(() => {})),
        plugin("start-hangs", () => ({ start: () => new Promise(() => {}) })),
        plugin("foreign", () => {}, { svc: "^9.0.0" }),
        good.plugin as Plugin<never>,
      ],
      limits: { setupMs: 50, startMs: 50 },
    });
    await kernel.start();
    const states = Object.fromEntries(kernel.health().plugins.map(({ id, state, reason }) => [id, `${state}: ${reason ?? ""}`]));
    expect(states["feature-throws"]).toBe("failed: setup: no luck");
    expect(states["feature-hangs"]).toContain("failed: setup: Plugin feature-hangs: setup did not answer within 50 ms");
    expect(states["feature-start-hangs"]).toContain("failed: start: Plugin feature-start-hangs: start did not answer within 50 ms");
    expect(states["feature-foreign"]).toContain("needs @svc/sdk 9.0.0 or later");
    expect(states["tier-scripted"]).toBe("running: ");
    expect(kernel.health()).toMatchObject({ ok: true, problems: [expect.any(String), expect.any(String), expect.any(String), expect.any(String)] });
    expect((await kernel.tasks.run({ entry: "task", channel: "http", chat: "1", text: "hello", agent: "a" })).reply).toBe("hello");
    await kernel.stop();
  });
});
