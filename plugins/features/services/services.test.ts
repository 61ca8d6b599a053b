import type { Inbound, Route } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import services from "./index.ts";
import { createMatcher, LONGEST_TEXT } from "./matcher.ts";
import { checkServices, type ServiceSettings } from "./settings.ts";

const service = (pattern: string, extra: Partial<ServiceSettings> = {}): ServiceSettings => ({
  name: "Water",
  triggers: [{ pattern }],
  agent: "a",
  prompt: "Read the rain gauge.",
  timezone: "UTC",
  ...extra,
});
const message = (text: string, extra: Partial<Inbound> = {}): Inbound => ({
  entry: "channel",
  channel: "mail",
  chat: "c1",
  text,
  id: "task_1",
  rootId: "r",
  at: 0,
  attempts: 0,
  ...extra,
});

function routing(config: Record<string, ServiceSettings>) {
  const ctx = createFakeContext(services as never, { config: config as never, agents: [{ id: "a" }] });
  const lifecycle = services.setup(ctx as never);
  const tap = ctx.registered.taps.find(({ hook }) => hook === "route")?.tap;
  const route = (given: Inbound) => (tap as unknown as (given: Inbound) => Promise<Route | undefined> | Route | undefined)(given);
  return { route, lifecycle };
}

describe("what a service answers to a message", () => {
  it("CRON-10 the agent, the fixed prompt, a conversation of its own and the way back", async () => {
    const { route } = routing({ water: service("water report") });
    expect(await route(message("the WATER report please", { account: "main", thread: "t", platformId: "77", agent: "other" }))).toEqual({
      agent: "a",
      text: "Read the rain gauge.",
      conversation: "a:mail:main:c1:t",
      reply: { channel: "mail", chat: "c1", account: "main", thread: "t", replyTo: "77" },
    });
    expect(await route(message("water report", { entry: "ask", channel: "mail" }))).toMatchObject({ reply: { channel: "http", chat: "c1" } });
    expect(await route(message("the weather"))).toBeUndefined();
  });

  it("answers at once from the second message on, and with the new patterns after a reload", async () => {
    const { route, lifecycle } = routing({ water: service("water") });
    expect(route(message("water"))).toBeInstanceOf(Promise);
    await route(message("water"));
    expect(route(message("water"))).toMatchObject({ agent: "a" });
    await lifecycle?.reload?.({ soil: service("soil") });
    expect([await route(message("water")), await route(message("soil"))]).toEqual([undefined, expect.objectContaining({ agent: "a" })]);
  });

  it.each(["cron", "heartbeat", "wake", "agent-call", "followup", "resume", "approval", "public"])("nothing to the entry %s", async (entry) => {
    const { route } = routing({ all: service(".") });
    expect(route(message("water", { entry }))).toBeUndefined();
    expect(await route(message("water"))).toMatchObject({ agent: "a" });
  });
});

describe("which service a text starts", () => {
  const prompts = (config: Record<string, ServiceSettings>) => {
    const matches = createMatcher(config);
    return (text: string, extra: Partial<Inbound> = {}) => matches(message(text, extra))?.prompt;
  };

  it("CRON-10 the first that matches, in the order of the file, by any of its triggers, whatever the case", () => {
    const matched = prompts({
      z: service("", { triggers: [{ pattern: "^garden" }, { pattern: "ÄPFEL" }], prompt: "first" }),
      a: service("report", { prompt: "second" }),
    });
    expect(["Garden report", "wo sind die Äpfel", "a REPORT", "my garden"].map((text) => matched(text))).toEqual(["first", "first", "second", undefined]);
  });

  it("a trigger with a channel counts on that channel only", () => {
    const matched = prompts({ w: service("", { triggers: [{ pattern: "water", channel: "mail" }] }) });
    expect([matched("water"), matched("water", { channel: "http" })]).toEqual(["Read the rain gauge.", undefined]);
  });

  it("CFG-15 allowedContacts: unset is anyone, a list its ids alone, an empty one nobody", () => {
    const config = { o: service("open"), l: service("listed", { allowedContacts: ["7"] }), n: service("none", { allowedContacts: [] }) };
    const matched = prompts(config);
    const by = (sender?: Inbound["sender"]) => ["open", "listed", "none"].map((text) => matched(text, sender && { sender }) !== undefined);
    expect(by()).toEqual([true, false, false]);
    expect(by({ id: "7" })).toEqual([true, true, false]);
    expect(by({ id: "8", name: "7", handle: "7" })).toEqual([true, false, false]);
  });

  it("a contact who may not start the first service may start the next one", () => {
    const matched = prompts({ one: service("water", { allowedContacts: ["7"], prompt: "first" }), two: service("water", { prompt: "second" }) });
    expect([matched("water", { sender: { id: "7" } }), matched("water")]).toEqual(["first", "second"]);
  });

  // A matcher that goes back needs more steps than there are seconds in the age of the world: it would not come to the assertion.
  it("FAULT-55 patterns that keep a backtracking matcher busy for ever are decided on 50,000 characters", () => {
    const matched = prompts({ a: service("^(a+)+$", { prompt: "first" }), b: service("^(b|bb)+$"), c: service("(x+x+)+y") });
    expect(["a", "b", "x"].map((letter) => matched(`${letter.repeat(50_000)}!`))).toEqual([undefined, undefined, undefined]);
    expect(matched("a".repeat(50_000))).toBe("first");
  });

  it("a text over the limit starts none", () => {
    const matched = prompts({ a: service("^a") });
    expect([matched("a".repeat(LONGEST_TEXT)), matched("a".repeat(LONGEST_TEXT + 1))]).toEqual(["Read the rain gauge.", undefined]);
  });
});

it("names what is allowed and means little", () => {
  const problems = checkServices(
    { 12: service("x", { agent: "b" }), w: service("x", { triggers: [], allowedContacts: [], schedule: "0 9 * * *", notify: true }), ok: service("x") },
    { agents: ["a"] },
  );
  expect(problems.map(({ path }) => path)).toEqual(["12", "12.agent", "w.triggers", "w.allowedContacts", "w.schedule", "w.notify"]);
  expect(problems.every(({ severity }) => severity === undefined)).toBe(true);
});
