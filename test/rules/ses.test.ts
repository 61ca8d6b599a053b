import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { definePlugin, type Plugin, type Usage, type Warm } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import agentCall from "../../plugins/actions/agent-call/index.ts";
import planner from "../../plugins/features/context-planner/index.ts";
import sessions from "../../plugins/features/sessions/index.ts";
import { type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse("2026-03-02T09:00:00Z");

/** A kernel whose one agent has a native tier, with a clock in the test's hands. */
async function runSessions({
  session = {},
  name = "scripted",
  inline = [],
  agent = {},
  config = {},
  ...options
}: RunOptions & { session?: object; name?: string } = {}) {
  const clock = { now: START };
  const running = await runKernel({
    tier: scriptedTier(name, { nativeSessions: true, enforcesAutonomy: true }),
    agent: { tier: name, ...agent },
    config: { session, ...config },
    inline: [sessions as Plugin<never>, ...inline],
    now: () => clock.now,
    ...options,
  });
  const { kernel, tier, events, message } = running;
  /** Says it in the conversation and answers with the session that the engine was given. */
  const say = async (text: string, extra = {}) => {
    await kernel.tasks.run(message(text, extra));
    return tier.turns.at(-1)?.context.session;
  };
  return { ...running, clock, say, rotations: () => events.filter(({ type }) => type === "session:rotated") };
}

it("SES-01 turns 1 to 40 share a session, turn 41 starts a new one, with one event and one log line", async () => {
  const folder = await temporaryFolder();
  const log = join(folder, "log");
  const { kernel, tier, say, rotations } = await runSessions({ log: { level: "info", destination: log } });
  for (let turn = 1; turn <= 45; turn += 1) await say(`turn ${turn}`);
  const given = tier.turns.map(({ context }) => context.session);
  expect(given.slice(0, 40)).toEqual([undefined, ...Array(39).fill("native-1")]);
  expect(given.slice(40)).toEqual([undefined, ...Array(4).fill("native-2")]);
  expect(rotations()).toHaveLength(1);
  expect(rotations()[0]).toMatchObject({ kind: "agent", agentId: "a", ref: tier.turns[40]?.turn.id, data: { reason: "turns", tier: "scripted" } });
  await kernel.stop({ drainSeconds: 0 });
  const lines = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes("session rotated"));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain("40 of at most 40 turns");
});

it("SES-01 with maxTurnsPerSession 2 the turns 1 and 2 share a session and 3 is fresh", async () => {
  const { say } = await runSessions({ session: { maxTurnsPerSession: 2 } });
  expect([await say("1"), await say("2"), await say("3"), await say("4"), await say("5")]).toEqual([undefined, "native-1", undefined, "native-2", undefined]);
});

it("SES-02 exactly staleMinutes idle goes on, a millisecond more does not", async () => {
  const { clock, say, rotations } = await runSessions({ session: { staleMinutes: 30 } });
  await say("1");
  clock.now += 30 * MINUTE;
  expect(await say("2")).toBe("native-1");
  clock.now += 30 * MINUTE + 1;
  expect(await say("3")).toBeUndefined();
  expect(rotations().map(({ data }) => data?.reason)).toEqual(["idle"]);
});

it("SES-02 exactly the threshold of tokens goes on, one more does not", async () => {
  const { say, rotations } = await runSessions({ session: { tierTwoThresholdTokens: 50_000 } });
  await say("usage 50000 1 0 0");
  expect(await say("usage 50001 1 0 0")).toBe("native-1");
  expect(await say("3")).toBeUndefined();
  expect(rotations().map(({ data }) => data?.reason)).toEqual(["tokens"]);
});

it("SES-03 only the prior turn's input, cache reads and cache writes count: no output, no sum over turns", async () => {
  const { say } = await runSessions();
  for (let turn = 1; turn <= 3; turn += 1) await say("usage 100000 90000 0 0");
  expect(await say("usage 90000 5 60000 30001")).toBe("native-1");
  expect(await say("next")).toBeUndefined();
});

it("SES-04 after a rotation all counters start anew, so the following turn goes on", async () => {
  const { clock, say, rotations } = await runSessions({ session: { maxTurnsPerSession: 3, staleMinutes: 60 } });
  await say("1");
  await say("2");
  await say("usage 180001 0 0 0");
  clock.now += 2 * HOUR;
  expect(await say("4")).toBeUndefined();
  expect(await say("5")).toBe("native-2");
  expect(await say("6")).toBe("native-2");
  expect(rotations()).toHaveLength(1);
  expect(await say("7")).toBeUndefined();
  expect(rotations()).toHaveLength(2);
});

it("SES-04 a fresh turn that fails before its engine began rotates nothing twice", async () => {
  const { tier, say, rotations } = await runSessions({ session: { maxTurnsPerSession: 2 } });
  await say("1");
  await say("2");
  expect(await say("fail")).toBeUndefined();
  expect(await say("4")).toBeUndefined();
  expect(await say("5")).toBe("native-2");
  expect(rotations()).toHaveLength(1);
  expect(tier.prompts).toContain("fail");
});

it("SES-05 a restart neither resets the counters nor forces a rotation", async () => {
  const dataFolder = await temporaryFolder();
  const first = await runSessions({ dataFolder, session: { maxTurnsPerSession: 3 } });
  await first.say("1");
  await first.say("2");
  await first.kernel.stop({ drainSeconds: 0 });
  const second = await runSessions({ dataFolder, session: { maxTurnsPerSession: 3 } });
  expect(await second.say("3")).toBe("native-1");
  expect(await second.say("4")).toBeUndefined();
  expect(second.rotations()).toHaveLength(1);
});

it("SES-05 the idle time and the tokens of the turn before outlive a restart", async () => {
  const dataFolder = await temporaryFolder();
  const first = await runSessions({ dataFolder });
  await first.say("usage 180001 0 0 0");
  await first.say("1", { chat: "other" });
  await first.kernel.stop({ drainSeconds: 0 });
  const second = await runSessions({ dataFolder });
  expect(await second.say("2")).toBeUndefined();
  second.clock.now += 720 * MINUTE + 1;
  expect(await second.say("2", { chat: "other" })).toBeUndefined();
  expect(second.rotations().map(({ data }) => data?.reason)).toEqual(["tokens", "idle"]);
});

it("SES-06 two tasks without freshSession share a session, one with it starts the next", async () => {
  const { say, rotations } = await runSessions();
  await say("1");
  expect(await say("2")).toBe("native-1");
  expect(await say("3", { options: { freshSession: true } })).toBeUndefined();
  expect(await say("4")).toBe("native-2");
  expect(rotations().map(({ data }) => data?.reason)).toEqual(["fresh"]);
});

it("SES-06 a follow-up to a task with freshSession stays in the session that the task began", async () => {
  const { kernel, tier, message, say } = await runSessions();
  await say("1");
  const run = kernel.tasks.run(message("hold", { options: { freshSession: true } }));
  await vi.waitFor(() => expect(tier.held).toBe(1));
  await kernel.tasks.followup(kernel.tasks.running()[0]!.id, { text: "and more", replace: false });
  tier.release();
  await run;
  await vi.waitFor(() => expect(tier.prompts.at(-1)).toBe("and more"));
  expect(tier.turns.at(-1)?.context.session).toBe("native-2");
});

it("SES-06 two agent.call without the field share no session; with freshSession false they do", async () => {
  const caller = callerOf("caller");
  const { tier } = await runSessions({ inline: [agentCall as Plugin<never>, caller.plugin] });
  const call = async (extra: object) => {
    const answer = await caller.actions().run("agent.call", { agentId: "a", message: "hi", ...extra }, { door: "agent", agent: "a" });
    expect(answer.status).toBe("ok");
    return tier.turns.at(-1)?.context.session;
  };
  expect([await call({}), await call({})]).toEqual([undefined, undefined]);
  expect(tier.turns[0]?.turn.route.conversation).not.toBe(tier.turns[1]?.turn.route.conversation);
  expect([await call({ freshSession: false }), await call({ freshSession: false })]).toEqual([undefined, "native-3"]);
});

it("SES-07 the 81st cold cli-a run of an hour is refused before anything starts, with one warning at 64", async () => {
  const { events, kernel, message, tier, clock } = await runSessions({ name: "cli-a" });
  const runs = async (count: number) => {
    for (let run = 0; run < count; run += 1) await kernel.tasks.run(message(`run`, { chat: `c${tier.turns.length}` }));
  };
  const warnings = () => events.filter(({ type }) => type === "budget:warned");
  await runs(63);
  expect(warnings()).toHaveLength(0);
  await runs(1);
  expect(warnings()).toHaveLength(1);
  await runs(16);
  expect(warnings()).toHaveLength(1);
  expect(tier.turns).toHaveLength(80);
  const refused = await kernel.tasks.run(message("one too many"));
  expect(refused).toMatchObject({ ok: false, errorKind: "budget", error: expect.stringContaining("session.maxClaudeCodeDispatchesPerHour") });
  expect(tier.turns).toHaveLength(80);
  clock.now += HOUR - 1;
  expect((await kernel.tasks.run(message("still"))).ok).toBe(false);
  clock.now += 1;
  expect((await kernel.tasks.run(message("again"))).ok).toBe(true);
});

it("SES-07 the window of five hours rolls, warns at 144 of 180, and outlives a restart", async () => {
  const dataFolder = await temporaryFolder();
  const session = { maxClaudeCodeDispatchesPerHour: 1000 };
  const first = await runSessions({ name: "cli-a", dataFolder, session });
  const run = async ({ kernel, message, tier, clock }: typeof first) => {
    clock.now += MINUTE;
    return kernel.tasks.run(message("run", { chat: `c${tier.turns.length}` }));
  };
  for (let count = 0; count < 143; count += 1) await run(first);
  const warnings = () => first.events.filter(({ type }) => type === "budget:warned");
  expect(warnings()).toHaveLength(0);
  for (let count = 143; count < 180; count += 1) expect((await run(first)).ok).toBe(true);
  expect(warnings()).toHaveLength(1);
  expect(await run(first)).toMatchObject({ ok: false, errorKind: "budget", error: expect.stringContaining("Per5h") });
  await first.kernel.stop({ drainSeconds: 0 });
  const second = await runSessions({ name: "cli-a", dataFolder, session });
  second.clock.now = first.clock.now;
  expect((await run(second)).errorKind).toBe("budget");
  second.clock.now = START + MINUTE + 5 * HOUR;
  expect((await second.kernel.tasks.run(second.message("room again"))).ok).toBe(true);
}, 60_000);

it("SES-07 warm conversations pass at the cap, restricted runs of theirs do not, and other tiers are not counted", async () => {
  const warmer = warmerOf();
  const { kernel, message, say, tier } = await runSessions({
    name: "cli-a",
    session: { maxClaudeCodeDispatchesPerHour: 1 },
    agent: { persistentProcess: true },
    inline: [warmer.plugin, scriptedTier("cli-b", { nativeSessions: true }).plugin as Plugin<never>],
    config: {
      agents: {
        a: { name: "A", workspace: "./w", tier: "cli-a", persistentProcess: true },
        b: { name: "B", workspace: "./w", tier: "cli-b" },
      },
    },
  });
  await say("cold");
  warmer.warm().keep(tier.turns[0]!.turn.route.conversation, {}, async () => {}, new Promise(() => {}));
  expect(await say("warm")).toBe("native-1");
  expect(tier.prompts).toEqual(["cold", "warm"]);
  expect((await kernel.tasks.run(message("restricted", { options: { autonomy: "report" } }))).errorKind).toBe("budget");
  expect((await kernel.tasks.run(message("cold", { chat: "other" }))).errorKind).toBe("budget");
  for (let run = 0; run < 3; run += 1) expect((await kernel.tasks.run(message("b", { agent: "b" }))).ok).toBe(true);
});

it("SES-10 two runs of one conversation go one after the other with maxConcurrent above 1, the second in the first's session", async () => {
  const { kernel, tier, message, say } = await runSessions({ agent: { maxConcurrent: 4, queueMode: "followup" } });
  await say("first");
  const held = kernel.tasks.run(message("hold"));
  await vi.waitFor(() => expect(tier.held).toBe(1));
  const waiting = kernel.tasks.run(message("second"));
  expect((await kernel.tasks.run(message("elsewhere", { chat: "other" }))).ok).toBe(true);
  expect(tier.prompts).not.toContain("second");
  tier.release();
  await Promise.all([held, waiting]);
  expect(tier.turns.at(-1)).toMatchObject({ context: { prompt: "second", session: "native-1" } });
});

it("CTX-09 a tier without native sessions never rotates and emits no session:rotated", async () => {
  const tier = scriptedTier("scripted");
  const { say, rotations } = await runSessions({ tier, session: { maxTurnsPerSession: 2, staleMinutes: 1 } });
  for (let turn = 0; turn < 5; turn += 1) expect(await say("usage 190000 1 0 0")).toBeUndefined();
  expect(rotations()).toHaveLength(0);
});

it("CTX-06 a planned turn never resumes a session, and a layered one does not go on with a planned one", async () => {
  const { say, rotations } = await runSessions({ inline: [planner as Plugin<never>] });
  await say("layered");
  const planned = { options: { contextStrategy: "planner" as const } };
  for (let turn = 0; turn < 3; turn += 1) expect(await say("planned", planned)).toBeUndefined();
  expect(await say("layered again")).toBeUndefined();
  expect(await say("and again")).toBe("native-5");
  expect(rotations().map(({ data }) => data?.reason)).toEqual(Array(4).fill("planner"));
});

/** A plugin that lends its capability `actions` to the test. */
function callerOf(name: string) {
  let lent: Parameters<Plugin["setup"]>[0]["actions"] | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name,
    version: "1.0.0",
    svc: "*",
    capabilities: ["actions"],
    setup(ctx) {
      lent = ctx.actions;
    },
  }) as Plugin<never>;
  return { plugin, actions: () => lent! };
}

/** A plugin that lends its capability `warm` to the test. */
function warmerOf() {
  let lent: Warm | undefined;
  const plugin = definePlugin({
    kind: "feature",
    name: "warmer",
    version: "1.0.0",
    svc: "*",
    capabilities: ["warm"],
    setup(ctx) {
      lent = ctx.warm;
    },
  }) as Plugin<never>;
  return { plugin, warm: () => lent! };
}

it("ENG-13 a session that has become too long for the model is left for a new one in the same turn, with a short notice", async () => {
  const { kernel, message, tier, say, rotations } = await runSessions();
  await say("first");
  const heard: string[] = [];
  const result = await kernel.tasks.run(message("overflow now"), (event) => {
    if (event.type === "text") heard.push(event.text);
  });
  expect(result).toMatchObject({ ok: true, reply: expect.stringMatching(/^\(This conversation had become too long for the model;.*\)\n\noverflow now$/) });
  expect(heard.join("")).toBe(result.reply);
  expect(tier.turns.slice(1).map(({ context }) => context.session)).toEqual(["native-1", undefined]);
  expect(rotations().map(({ data }) => data?.reason)).toEqual(["lost"]);
  expect((await kernel.traces.get(result.taskId))?.steps).toMatchObject([{ name: "session", error: "started anew: the prompt is too long" }]);
  expect(await say("and on")).toBe("native-2");
});

it("ENG-13 a lost session's run counts in the usage of its turn, and not in the size of the new session", async () => {
  const { kernel, message, say, rotations } = await runSessions();
  await say("first");
  const told: (Usage | undefined)[] = [];
  const result = await kernel.tasks.run(message("overflow now"), (event) => {
    if (event.type === "usage") told.push(event.usage);
  });
  const both = { input: 200_003, output: 3, cost: 0.5 };
  expect(result).toMatchObject({ ok: true, usage: both });
  expect(told).toEqual([{ input: 200_000, output: 1, cost: 0.5 }, both]);
  expect((await kernel.traces.get(result.taskId))?.usage).toEqual(both);
  expect(await say("and on")).toBe("native-2");
  expect(rotations().map(({ data }) => data?.reason)).toEqual(["lost"]);
});
