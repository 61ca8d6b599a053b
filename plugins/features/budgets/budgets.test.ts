import type { Jobs } from "@svc/sdk";
import { createFakeCli, createFakeContext, createMemoryStore, panelContract } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import command from "./budgets-command.ts";
import { capsOf, priceOf, spentOf } from "./caps.ts";
import budgets from "./index.ts";
import { Meter, type Warning } from "./meter.ts";
import { type BudgetSettings, checkBudgets } from "./settings.ts";
import { Windows } from "./windows.ts";

const HOUR = 3_600_000;
const START = Date.parse("2026-05-04T10:30:00Z");

/** Midnights of UTC, or of what the test says. */
const jobs = (midnights?: readonly string[]): Pick<Jobs, "next"> => ({
  next: async (_expression, _zone, { count = 5, from = new Date() } = {}) =>
    (midnights?.map((one) => new Date(one)) ?? Array.from({ length: 60 }, (_, day) => new Date(Date.UTC(2026, 4, 1 + day))))
      .filter((date) => date > from)
      .slice(0, count),
});

function meterOf(settings: BudgetSettings, store = createMemoryStore()) {
  const clock = { now: START };
  const warned: Warning[] = [];
  const unpriced: (string | undefined)[] = [];
  const meter = new Meter({
    store,
    windows: new Windows(jobs()),
    settings: () => settings,
    warn: (warning) => void warned.push(warning),
    unpriced: (model) => void unpriced.push(model),
    now: () => clock.now,
  });
  const used = async (agent: string, period: string) =>
    (await meter.standing(agent === "*" ? [] : [agent])).find((one) => one.agent === agent && one.period === period);
  return { meter, clock, warned, unpriced, used, store };
}
const tokens = (input: number, output = 0) => ({ input, output });

panelContract({ describe, it }, () => {
  const context = createFakeContext(budgets, { config: {} });
  budgets.setup(context as never);
  return { context };
});

describe("caps and prices", () => {
  it("each number of an agent's own entry counts before that of eachAgent, and the setting is named", () => {
    const settings: BudgetSettings = { eachAgent: { hour: { turns: 5, tokens: 100 } }, agents: { ada: { hour: { turns: 9 } } }, all: { hour: { money: 1 } } };
    expect(capsOf(settings, "ada", "hour")).toEqual([
      { measure: "turns", cap: 9, setting: "budgets.agents.ada.hour.turns" },
      { measure: "tokens", cap: 100, setting: "budgets.eachAgent.hour.tokens" },
    ]);
    expect(capsOf(settings, "*", "hour")).toEqual([{ measure: "money", cap: 1, setting: "budgets.all.hour.money" }]);
    for (const id of ["toString", "__proto__", "constructor"]) expect(capsOf({ agents: {} }, id, "hour")).toEqual([]);
  });

  it("the longest beginning of a model's name counts; the table before the engine's own word; numbers that are none count nothing", () => {
    const prices = { "acme*": { input: 1, output: 2 }, "acme-large*": { input: 3, output: 15, cacheRead: 0.3 }, "acme-large-2": { input: 9, output: 9 } };
    expect(
      [priceOf(prices, "acme-small"), priceOf(prices, "acme-large-1"), priceOf(prices, "acme-large-2"), priceOf(prices, "other"), priceOf(prices)].map(
        (price) => price?.input,
      ),
    ).toEqual([1, 3, 9, undefined, undefined]);
    expect(spentOf({ input: 1_000, output: 100, cacheRead: 10_000, cacheCreate: 10, cost: 99 }, prices["acme-large*"])).toEqual({
      tokens: 11_110,
      micros: 3_000 + 1_500 + 3_000 + 30,
    });
    expect(spentOf({ input: 1, output: 1, cost: 0.25 }, undefined)).toEqual({ tokens: 2, micros: 250_000 });
    expect(spentOf({ input: 5, output: 5 }, undefined)).toEqual({ tokens: 10, micros: 0, unpriced: true });
    expect(spentOf({ input: Number.NaN, output: -5, cost: Number.POSITIVE_INFINITY } as never, undefined)).toEqual({ tokens: 0, micros: 0 });
  });

  it("the check tells a budget of no agent, and money without prices", () => {
    const check = (section: BudgetSettings) => checkBudgets(section, { agents: ["ada"] }).map(({ path }) => path);
    expect(check({ agents: { ada: {}, adda: {} } })).toEqual(["agents.adda"]);
    expect(check({ eachAgent: { run: { money: 1 } } })).toEqual(["prices"]);
    expect(check({ eachAgent: { run: { money: 1 } }, prices: { "*": { input: 1, output: 1 } } })).toEqual([]);
  });
});

describe("counting", () => {
  it("of a hundred turns that begin at once as many start as the cap says, and the others read which setting and until when", async () => {
    const { meter, used } = meterOf({ agents: { ada: { hour: { turns: 7 } } } });
    const said = await Promise.all(Array.from({ length: 100 }, (_, at) => meter.begin(`t${at}`, "ada", 1)));
    expect(said.filter((one) => one === undefined)).toHaveLength(7);
    expect(said.at(-1)).toBe(
      "The budget of the agent 'ada' is used up: 7 of 7 turns in this hour (budgets.agents.ada.hour.turns). There is room again at 2026-05-04T11:00:00.000Z; or raise the setting.",
    );
    expect(await used("ada", "hour")).toMatchObject({ turns: 7 });
    expect(await used("*", "day")).toMatchObject({ turns: 7 });
  });

  it("two daemons at the same rows let in no more than one would", async () => {
    const store = createMemoryStore();
    const settings: BudgetSettings = { all: { day: { turns: 11 } } };
    const [one, other] = [meterOf(settings, store), meterOf(settings, store)];
    const said = await Promise.all(Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? one : other).meter.begin(`t${at}`, `a${at % 3}`, 1)));
    expect(said.filter((refusal) => refusal === undefined)).toHaveLength(11);
  });

  it("usage that is told again counts once, more of it counts the rest, and a run after a restart counts beside the first", async () => {
    const { meter, used } = meterOf({});
    await meter.begin("t1", "ada", 1);
    for (const usage of [tokens(10), tokens(10), tokens(25, 5)]) await meter.count("t1", "ada", usage, undefined, false);
    await meter.begin("t1", "ada", 1);
    await meter.count("t1", "ada", tokens(25, 5), undefined, false);
    expect(await used("ada", "hour")).toMatchObject({ turns: 1, tokens: 30 });
    // The daemon died, and the turn runs again from the start.
    await meter.begin("t1", "ada", 2);
    await meter.count("t1", "ada", tokens(8), undefined, true);
    await meter.count("t1", "ada", tokens(8), undefined, true);
    expect(await used("ada", "hour")).toMatchObject({ turns: 1, tokens: 38 });
    expect(await meter.open()).toEqual([]);
  });

  it("an engine that is asked once more for the same answer begins anew", async () => {
    const { meter, used } = meterOf({});
    await meter.begin("t1", "ada", 1);
    for (const usage of [tokens(100), tokens(40)]) await meter.count("t1", "ada", usage, undefined, false);
    await meter.count("t1", "ada", undefined, undefined, true);
    expect(await used("ada", "day")).toMatchObject({ turns: 1, tokens: 140 });
  });

  it("a window ends to the millisecond: what is told on its edge is in the next one, which is empty", async () => {
    const { meter, clock, used } = meterOf({ agents: { ada: { hour: { turns: 1, tokens: 10 } } } });
    clock.now = START + HOUR / 2 - 1;
    expect(await meter.begin("t1", "ada", 1)).toBeUndefined();
    await meter.count("t1", "ada", tokens(10), undefined, false);
    expect(await meter.begin("t2", "ada", 1)).toContain("2026-05-04T11:00:00.000Z");
    clock.now += 1;
    expect(await used("ada", "hour")).toMatchObject({ turns: 0, tokens: 0, from: Date.parse("2026-05-04T11:00:00Z") });
    await meter.count("t1", "ada", tokens(15), undefined, true);
    expect(await meter.begin("t2", "ada", 1)).toBeUndefined();
    expect(await used("ada", "hour")).toMatchObject({ turns: 1, tokens: 5 });
    expect(await used("ada", "day")).toMatchObject({ turns: 2, tokens: 15 });
    // A clock that is set back finds what was counted then.
    clock.now -= 1;
    expect(await meter.begin("t3", "ada", 1)).toContain("is used up");
  });

  it("a turn that a restart takes up again is let in though the turns are used up, and not though the tokens are", async () => {
    const { meter } = meterOf({ agents: { ada: { hour: { turns: 1, tokens: 50 } } } });
    await meter.begin("t1", "ada", 1);
    expect(await meter.begin("t1", "ada", 2)).toBeUndefined();
    await meter.count("t1", "ada", tokens(60), undefined, false);
    expect(await meter.begin("t1", "ada", 3)).toContain("60 of 50 tokens");
  });

  it("money counts by the table, exactly, and a model without a price is told", async () => {
    const { meter, used, unpriced } = meterOf({ prices: { m: { input: 0.1, output: 0.2 } }, all: { day: { money: 0.000_003 } } });
    for (let at = 0; at < 3; at += 1) {
      expect(await meter.begin(`t${at}`, "ada", 1)).toBeUndefined();
      await meter.count(`t${at}`, "ada", tokens(10), "m", true);
    }
    expect(await used("*", "day")).toMatchObject({ micros: 3, tokens: 30 });
    expect(await meter.begin("t9", "ben", 1)).toMatch(/all agents together is used up: .* \(budgets.all.day.money\)/);
    await meter.count("t0", "ada", tokens(50), "unknown", true);
    expect(unpriced).toEqual(["unknown"]);
  });

  it("four fifths of a cap are told once a window", async () => {
    const { meter, warned, clock } = meterOf({ agents: { ada: { hour: { turns: 10 } } } });
    for (let at = 0; at < 12; at += 1) await meter.begin(`t${at}`, "ada", 1);
    expect(warned).toMatchObject([{ agent: "ada", amount: 8, cap: 10, setting: "budgets.agents.ada.hour.turns" }]);
    clock.now += HOUR;
    for (let at = 0; at < 8; at += 1) await meter.begin(`u${at}`, "ada", 1);
    expect(warned).toHaveLength(2);
  });

  it("forgets what is old and nothing else", async () => {
    const { meter, used, clock, store } = meterOf({});
    await meter.begin("t1", "ada", 1);
    clock.now += 10 * 24 * HOUR;
    await meter.begin("t2", "ada", 1);
    await meter.sweep(clock.now - 24 * HOUR);
    expect([await store.collection("windows").count(), await store.collection("turns").count()]).toEqual([4, 1]);
    expect(await used("ada", "day")).toMatchObject({ turns: 1 });
  });
});

describe("a day", () => {
  it("begins at midnight of its zone, and is as long as the clocks make it", async () => {
    const windows = new Windows(jobs(["2026-03-27T23:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z", "2026-03-30T22:00:00Z"]));
    const day = async (at: string) => {
      const [, { from, to }] = await windows.at(Date.parse(at), "Europe/Berlin");
      return [new Date(from).toISOString(), (to - from) / HOUR];
    };
    expect(await day("2026-03-28T22:59:59.999Z")).toEqual(["2026-03-27T23:00:00.000Z", 24]);
    expect(await day("2026-03-28T23:00:00Z")).toEqual(["2026-03-28T23:00:00.000Z", 23]);
    expect(await day("2026-03-29T21:59:59.999Z")).toEqual(["2026-03-28T23:00:00.000Z", 23]);
    expect(await day("2026-03-29T22:00:00Z")).toEqual(["2026-03-29T22:00:00.000Z", 24]);
  });
});

describe("svc budgets", () => {
  it("says what is used of which cap, of one agent or of all", async () => {
    const line = {
      agent: "ada",
      period: "hour",
      from: "f",
      to: "t",
      turns: 2,
      tokens: 30,
      money: 0.5,
      caps: [{ measure: "turns", used: 2, cap: 9, setting: "s" }],
    };
    const cli = createFakeCli({ answers: { "GET /budgets": { budgets: [line, { ...line, agent: "*", caps: [] }] } } });
    await command.commands[0]?.run(["ada"], {}, cli);
    await command.commands[0]?.run(["nobody"], {}, cli);
    expect(cli.printed.map(({ human }) => human)).toEqual([
      "ada, this hour until t: 2 of 9 turns (s), 30 tokens, $0.50",
      "Nothing was used yet, and no cap is set.",
    ]);
  });
});

it("what was not counted because the database was away is counted within the hour, without a restart", async () => {
  const hourly: (() => Promise<void>)[] = [];
  const store = createMemoryStore();
  const turns = store.collection<{ open: number }>("turns", { indexes: ["at", "open"] });
  const context = createFakeContext(budgets, {
    config: {},
    store,
    ...({ jobs: { ...jobs(), every: (_ms: number, run: () => Promise<void>) => hourly.push(run) } } as object),
    ...({ traces: { get: async () => ({ status: "ok", usage: tokens(100, 20) }) } } as object),
  });
  const lifecycle = await budgets.setup(context as never);
  await (lifecycle as { start(): Promise<void> }).start();
  await turns.put("task_1", { agent: "ada", at: Date.now(), run: 1, told: { turns: 0, tokens: 0, micros: 0 }, open: 1 } as never);
  for (const run of hourly) await run();
  expect((await turns.get("task_1"))?.value).toMatchObject({ open: 0, told: { tokens: 120 } });
});
