import { createFakeCli, createFakeContext, createMemoryStore } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { Entries } from "./entries.ts";
import ledger from "./index.ts";
import command from "./ledger-command.ts";
import { modeOf } from "./mode.ts";
import { matterOf } from "./topic-of.ts";

const matter = { project: "group/app", subject: "issue 12" };
const work = (agent: string, task = `task_${agent}`) => ({ ...matter, agent, root: "root_1", task });

describe("the mode", () => {
  it("CFG-22 is one of three words exactly; unset is off, and anything else means none", () => {
    const table = {
      off: "off",
      shadow: "shadow",
      authoritative: "authoritative",
      "": "off",
      Shadow: undefined,
      "shadow ": undefined,
      true: undefined,
      "1": undefined,
    };
    for (const [value, mode] of Object.entries(table)) expect([value, modeOf(value)]).toEqual([value, mode]);
    expect(modeOf(undefined)).toBe("off");
  });

  it("registers no route tap but where it is authoritative, and then required ones", () => {
    const taps = (value: string) => {
      const ctx = createFakeContext(ledger, { env: { INTENT_LEDGER_MODE: value } });
      ledger.setup(ctx as never);
      return ctx.registered.taps.map(({ hook, options }) => [hook, options.required === true]);
    };
    expect(taps("off")).toEqual([]);
    expect(taps("SHADOW")).toEqual([]);
    expect(taps("shadow")).toEqual([["dispatch", false]]);
    expect(taps("authoritative")).toEqual([
      ["route", true],
      ["dispatch", true],
    ]);
  });
});

describe("what a message is about", () => {
  const message = { id: "t", rootId: "r", at: 0, attempts: 0, entry: "channel", channel: "chat", chat: "c", account: "main", text: "x" };
  const people = { whois: () => ({ project: "shop" }) };
  it("is its verified topic, else the contact's project and the chat, else nothing", () => {
    expect(matterOf({ ...message, options: { topic: matter } }, people)).toEqual(matter);
    expect(matterOf({ ...message, options: { topic: { project: "p" } } }, undefined)).toBeUndefined();
    expect(matterOf({ ...message, thread: "t1" }, people)).toEqual({ project: "shop", subject: "chat main c t1" });
    expect(matterOf({ ...message, options: { askedBy: "ada" } }, people)).toBeUndefined();
    expect(matterOf(message, undefined)).toBeUndefined();
  });
});

describe("entries", () => {
  const none = () => false;
  it("the first agent has a subject; a turn that comes again counts once; another one is told who has it", async () => {
    const entries = new Entries(createMemoryStore());
    expect(await entries.claim(work("ada", "t1"), none)).toBeUndefined();
    expect(await entries.claim(work("ada", "t1"), none)).toBeUndefined();
    expect(await entries.claim(work("ben"), none)).toBe("ada");
    expect(await entries.get(matter)).toMatchObject({ agent: "ada", turns: 1, task: "t1", root: "root_1" });
    expect(await entries.claim(work("ben"), (holder) => holder === "ada")).toBeUndefined();
    expect(await entries.get(matter)).toMatchObject({ agent: "ben" });
  });

  it("of a hundred that claim one subject at once, one has it and all others are told so", async () => {
    const entries = new Entries(createMemoryStore());
    const agents = Array.from({ length: 100 }, (_, at) => `a${at}`);
    const told = await Promise.all(agents.map((agent) => entries.claim(work(agent), none)));
    const holder = (await entries.get(matter))?.agent;
    expect(told.filter((one) => one === undefined)).toHaveLength(1);
    expect(new Set(told)).toEqual(new Set([undefined, holder]));
  });

  it("the shadow leaves a subject with who had it first, and counts the others' turns", async () => {
    const entries = new Entries(createMemoryStore());
    for (const agent of ["ada", "ben", "cleo", "ada"]) await entries.observe(work(agent));
    expect(await entries.get(matter)).toMatchObject({ agent: "ada", other: { agent: "cleo", times: 2 } });
  });

  it("assign and release compare the version; a stale one changes nothing", async () => {
    const entries = new Entries(createMemoryStore());
    const stale = { code: "SVC_LEDGER_CHANGED", status: 409 };
    await expect(entries.assign(matter, "ada", "ann", 1)).rejects.toMatchObject(stale);
    const { version } = await entries.assign(matter, "ada", "ann", 0);
    await expect(entries.assign(matter, "ben", "bob", 0)).rejects.toMatchObject(stale);
    await entries.claim(work("ada"), none);
    await expect(entries.assign(matter, "ben", "bob", version)).rejects.toMatchObject(stale);
    await expect(entries.release(matter, version)).rejects.toMatchObject(stale);
    expect(await entries.get(matter)).toMatchObject({ agent: "ada", assignedBy: "ann", turns: 1 });
    expect(await entries.release(matter)).toBe(true);
    expect(await entries.release(matter, 0)).toBe(false);
    const both = await Promise.allSettled([entries.assign(matter, "ada", "ann", 0), entries.assign(matter, "ben", "bob", 0)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });

  it("forgets what is old, and nothing that was worked on since", async () => {
    let now = 1_000;
    const entries = new Entries(createMemoryStore(), () => now);
    for (let at = 0; at < 20; at += 1) await entries.claim({ ...work("ada"), subject: `s${at}` }, none);
    now = 5_000;
    await entries.claim({ ...work("ada"), subject: "s3" }, none);
    expect(await entries.sweep(2_000)).toBe(19);
    expect((await entries.list({ limit: 100 })).map(({ subject }) => subject)).toEqual(["s3"]);
  });

  it("names that look like each other or like keys are subjects of their own", async () => {
    const entries = new Entries(createMemoryStore());
    const odd = [
      { project: "a", subject: "b c" },
      { project: "a b", subject: "c" },
      { project: "__proto__", subject: "constructor" },
      { project: "x\u0000y", subject: "z".repeat(1_000) },
    ];
    for (const one of odd) expect(await entries.claim({ ...one, agent: one.project, root: "r", task: "t" }, none)).toBeUndefined();
    for (const one of odd) expect((await entries.get(one))?.agent).toBe(one.project);
  });
});

describe("svc ledger", () => {
  it("shows strangers' words without their control characters, and hands on the version", async () => {
    const entry = {
      ...matter,
      subject: "issue\u001b[2J 1",
      agent: "ada",
      since: 0,
      at: 0,
      turns: 2,
      version: 7,
      other: { agent: "ben", task: "t", at: 0, times: 3 },
    };
    const cli = createFakeCli({
      answers: {
        "GET /ledger?": { mode: "shadow", entries: [entry] },
        "POST /ledger/assign": (body: unknown) => ({ mode: "shadow", entry: { ...entry, agent: (body as { agent: string }).agent } }),
      },
    });
    const run = (name: string, args: string[], options = {}) => command.commands.find((one) => one.name === name)?.run(args, options, cli);
    await run("list", []);
    expect(cli.printed[0]?.human).toBe("mode shadow\ngroup/app  issue [2J 1  ada  1970-01-01T00:00:00.000Z  but ben ran 3 of its turns, last t");
    await run("assign", ["group/app", "issue 1", "ben"], { expect: 7 });
    expect(cli.requested.at(-1)?.body).toMatchObject({ agent: "ben", expect: 7 });
    expect(cli.printed[1]?.human).toContain("version  7");
  });
});
