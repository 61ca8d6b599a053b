import { definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { scriptedTier } from "../kit/scripted.ts";
import { crashed, stage, until } from "./cron.harness.ts";

const NIGHTLY = { schedule: "30 2 * * *", agent: "a" };
const MINUTE = new Date("2026-11-22T02:30:00Z");

describe("autonomy", () => {
  it("CRON-08 a restricted job fails on a tier that cannot hold it, and never runs with full rights", async () => {
    const now = await stage({ careful: { ...NIGHTLY, prompt: "look", autonomy: "report" } });
    expect(await now.ran("careful")).toMatchObject({ status: "failed", error: expect.stringContaining("cannot enforce") });
    expect(now.tier.prompts).toEqual([]);
  });

  it("CRON-08 a restricted job is held by a tier that can, with its model, its cap and its limit", async () => {
    const tier = scriptedTier("scripted", { enforcesAutonomy: true });
    const now = await stage({ careful: { ...NIGHTLY, prompt: "look", autonomy: "propose", model: "small-1", maxOutputTokens: 300, timeout: 9_000 } }, { tier });
    expect(await now.ran("careful")).toMatchObject({ status: "ok", taskId: expect.stringMatching(/^task_/) });
    expect(tier.turns[0]?.turn.messages[0].options).toEqual({
      scheduled: true,
      timeoutMinutes: 150,
      autonomy: "propose",
      model: "small-1",
      maxOutputTokens: 300,
    });
  });

  it("CRON-08 a restricted job is handed to nobody who would take the turn over, as an attached session does", async () => {
    let ran = 0;
    const taker = definePlugin({
      kind: "feature",
      name: "taker",
      version: "1.0.0",
      svc: "*",
      capabilities: [],
      setup(ctx) {
        ctx.hooks.dispatch.tap(() => {
          return (async function* () {
            yield { type: "text" as const, text: "taken over with full rights" };
            ran += 1;
            yield { type: "done" as const };
          })();
        });
      },
    }) as Plugin<never>;
    const tier = scriptedTier("scripted", { enforcesAutonomy: true });
    const now = await stage({ careful: { ...NIGHTLY, prompt: "look", autonomy: "report" }, free: { ...NIGHTLY, prompt: "look" } }, { tier, more: [taker] });
    expect(await now.ran("careful")).toMatchObject({ status: "ok" });
    expect([ran, tier.prompts.length]).toEqual([0, 1]);
    expect(await now.ran("free")).toMatchObject({ status: "ok" });
    expect([ran, tier.prompts.length]).toEqual([1, 1]);
  });
});

describe("one run at a time", () => {
  const TOKEN = { headers: { authorization: "Bearer token-of-the-job" } };

  it("CRON-09 the fire token starts the job: 202, 401 for another one, 404 where there is none", async () => {
    const now = await stage({
      fired: { ...NIGHTLY, prompt: "hello", fireToken: "token-of-the-job" },
      plain: { ...NIGHTLY, prompt: "hello" },
      off: { ...NIGHTLY, prompt: "x", enabled: false, fireToken: "token-of-the-job" },
    });
    const fire = (id: string, init?: object) => now.call("POST", `/crons/${id}/fire`, init);
    expect(await fire("fired", { ...TOKEN, body: "<any body='at all'/>" })).toMatchObject({ status: 202, body: { job: "fired", started: true } });
    await vi.waitFor(async () => expect(await now.runs("fired")).toMatchObject([{ status: "ok", by: "fire" }]));
    expect((await fire("fired")).status).toBe(401);
    expect((await fire("fired", { headers: { authorization: "Bearer token-of-another" } })).status).toBe(401);
    expect((await fire("fired", { headers: { authorization: "token-of-the-job" } })).status).toBe(401);
    expect((await fire("plain", TOKEN)).status).toBe(404);
    expect((await fire("nowhere", TOKEN)).status).toBe(404);
    expect((await fire("constructor", TOKEN)).status).toBe(404);
    expect((await fire("off", TOKEN)).status).toBe(409);
    expect(JSON.stringify([await now.call("GET", "/crons"), now.events])).not.toContain("token-of-the-job");
    expect(await now.runs("fired")).toHaveLength(1);
  });

  it("CRON-09 two hundred fires at once are one run; the others are told so and it is logged once", async () => {
    const now = await stage({ fired: { ...NIGHTLY, prompt: "hold", fireToken: "token-of-the-job" } });
    const answers = await Promise.all(Array.from({ length: 200 }, () => now.call("POST", "/crons/fired/fire", TOKEN)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(answers.filter(({ body }) => body["started"] === true)).toHaveLength(1);
    await until(() => now.tier.held === 1);
    await now.clock.get("fired")?.(MINUTE);
    expect(await now.call("POST", "/crons/fired/run")).toMatchObject({ status: 409, body: { code: "SVC_CRON_RUNNING" } });
    expect(await now.job("fired")).toMatchObject({ running: { taskId: expect.any(String) } });
    now.tier.release();
    await vi.waitFor(async () => expect(await now.runs("fired")).toMatchObject([{ status: "ok", refused: 201 }]));
    expect(now.tier.prompts).toHaveLength(1);
    expect(now.events.filter(({ type }) => type === "cron:overlap")).toHaveLength(1);
  });

  it("CRON-09 a run that the daemon was killed in the middle of is closed at the next start, is no failure, and the job runs again", async () => {
    const first = await stage({ long: { ...NIGHTLY, prompt: "hold" }, cmd: { ...NIGHTLY, command: "sleep 60" } });
    for (const id of ["long", "cmd"]) expect((await first.call("POST", `/crons/${id}/run`)).status).toBe(202);
    await until(() => first.tier.held === 1);
    const second = await stage(undefined, { folder: await crashed(first) });
    await vi.waitFor(async () => expect(await second.runs("long")).toMatchObject([{ status: "interrupted" }]), { timeout: 10_000 });
    expect(await second.runs("cmd")).toMatchObject([{ status: "interrupted", error: "The daemon ended in the middle of it." }]);
    expect(second.tier.prompts).toEqual([]);
    expect(await second.job("long")).toMatchObject({ failures: 0 });
    expect((await second.call("POST", "/crons/long/run")).status).toBe(202);
    await until(() => second.tier.held === 1);
    second.tier.release();
    await vi.waitFor(async () => expect(await second.runs("long")).toMatchObject([{ status: "ok" }, { status: "interrupted" }]));
  });

  it("CRON-09 a change of another job does not disturb a run, nor does the removal of its own", async () => {
    const now = await stage({ long: { ...NIGHTLY, prompt: "hold", onError: "disable" }, other: { ...NIGHTLY, prompt: "x" } });
    await now.call("POST", "/crons/long/run");
    await until(() => now.tier.held === 1);
    await now.ctx().settings.change([{ path: ["crons", "other", "enabled"], value: false }], { by: "a test" });
    await now.ctx().settings.change([{ path: ["crons", "long"] }], { by: "a test" });
    expect((await now.call("GET", "/crons")).body["crons"]).toMatchObject([{ id: "other", enabled: false }]);
    now.tier.release();
    await vi.waitFor(async () => expect(await now.runs("long")).toMatchObject([{ status: "ok" }]));
  });
});

describe("what a run may take and where its answer goes", () => {
  it("RUN-06 an agent's job has two hours at least, whatever its timeout and its agent's limit are", async () => {
    const now = await stage(
      { short: { ...NIGHTLY, prompt: "hello", timeout: 5 } },
      { agents: { a: { name: "A", workspace: "./w", tier: "scripted", maxExecutionMinutes: 1 } } },
    );
    await now.ran("short");
    expect(now.tier.turns[0]?.turn.messages[0]).toMatchObject({ entry: "cron", options: { timeoutMinutes: 120 } });
  });

  it("the answer is sent where the job asks for it, and kept out of events and the list", async () => {
    const now = await stage({
      told: { ...NIGHTLY, prompt: "CANARY-ANSWER", sendAnswer: true, notify: { channel: "mail", chatId: "ops" } },
      silent: { ...NIGHTLY, prompt: "quiet", notify: { channel: "mail", chatId: "ops" } },
    });
    await now.ran("silent");
    await now.ran("told");
    await until(() => now.sent.length === 1);
    expect(now.sent[0]).toEqual({ chat: "ops", text: expect.stringContaining("CANARY-ANSWER") });
    expect(JSON.stringify(now.events)).not.toContain("CANARY-ANSWER");
  });

  it("a job asked for in a chat answers there", async () => {
    const now = await stage({});
    const message = { entry: "channel", channel: "mail", chat: "family", account: "main", agent: "a", text: "hold" };
    const { taskId } = await now.kernel.tasks.accept(message);
    await until(() => now.tier.held === 1);
    await now.tool("svc_schedule_add", { when: "every day at 9", prompt: "the weather", id: "weather" }, "a", taskId);
    expect(now.file().crons["weather"]).toMatchObject({ notify: { channel: "mail", chatId: "family", accountId: "main" }, sendAnswer: true });
    now.tier.release();
  });

  it("runs are kept to the newest two hundred of a job", async () => {
    const now = await stage({ often: { ...NIGHTLY, command: "true" } });
    const runs = now.ctx().store.collection("runs");
    for (let at = 0; at < 210; at += 1)
      await runs.put(`often/${String(at).padStart(15, "0")}-x`, { job: "often", at, by: "schedule", kind: "command", agent: "a", status: "ok" });
    await now.ran("often").catch(() => {});
    await vi.waitFor(async () => expect(await runs.count({ where: { job: "often" } })).toBe(200));
  });
});

it("OPS-01 a stop ends a command that runs, and its record says so", { timeout: 60_000 }, async () => {
  const now = await stage({ slow: { ...NIGHTLY, command: "echo begun; sleep 300" } });
  await now.call("POST", "/crons/slow/run");
  await vi.waitFor(async () => expect(await now.runs("slow")).toMatchObject([{ status: "running" }]));
  await now.stop();
  const again = await stage(undefined, { folder: now.folder });
  expect(await again.runs("slow")).toMatchObject([{ status: "interrupted", error: expect.stringMatching(/stopped in the middle|ended in the middle/) }]);
  expect(await again.job("slow")).toMatchObject({ failures: 0 });
  expect(await again.job("slow")).not.toHaveProperty("running");
});
