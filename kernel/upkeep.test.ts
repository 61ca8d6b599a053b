import { describe, expect, it } from "vitest";
import { createLog } from "./log.ts";
import { openStore } from "./store/index.ts";
import { claimMinute, forgetOld, type MissedMinutes, noteMissed } from "./upkeep.ts";

const open = () => openStore({ file: ":memory:", log: createLog({ destination: "none", secrets: () => [] }) }).scope("core");

describe("claims of minutes", () => {
  it("FAULT-19 a (job, minute) is given to one caller only, also when the clock shows it again", async () => {
    const store = open();
    const claim = (job: string, minute: string) => claimMinute(store, job, minute, 0);
    const twenty = await Promise.all(Array.from({ length: 20 }, (_, n) => claim("a", `2026-01-01T12:0${n % 2}`)));
    expect(twenty.filter(Boolean)).toHaveLength(2);
    expect(await claim("a", "2026-01-01T12:01")).toBe(false);
    expect(await claim("b", "2026-01-01T12:01")).toBe(true);
  });

  it("a clock that was ahead for a moment keeps no later minute from running", async () => {
    const store = open();
    expect(await claimMinute(store, "a", "2026-01-02T12:00", 0)).toBe(true);
    expect(await claimMinute(store, "a", "2026-01-01T12:01", 0)).toBe(true);
    expect(await claimMinute(store, "a", "2026-01-02T12:00", 0)).toBe(false);
  });

  it("are forgotten when they are old", async () => {
    const store = open();
    for (let hour = 10; hour < 20; hour += 1) await claimMinute(store, "a", `2026-01-01T${hour}:00`, hour);
    await forgetOld(store, 15);
    expect(await store.collection("minutes").count()).toBe(5);
  });
});

describe("missed minutes", () => {
  it("FAULT-18 the decision is kept in the store", async () => {
    const store = open();
    const missed = { job: "a", from: "2026-01-01T13:00:00.000Z", to: "2026-01-02T12:00:00.000Z", at: 1 };
    await noteMissed(store, missed);
    expect((await store.journal<MissedMinutes>("missed-minutes").tail(10)).map(({ value }) => value)).toEqual([missed]);
  });
});
