import type { Store } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { createLog } from "../base/log.ts";
import { stateStore } from "../base/state-store.ts";
import { createBegunMinutes } from "./begun-minutes.ts";

const silent = createLog({ destination: "none", secrets: () => [] });
const open = () => stateStore(openStore({ file: ":memory:", log: silent })).scope("core");
const run = (store: Store, node = "n1", dead: readonly string[] = []) =>
  createBegunMinutes({ node, store, now: () => 0, isDead: async (other) => dead.includes(other) });

describe("claims of minutes", () => {
  it("FAULT-19 a (job, minute) is given to one caller only, also when the clock shows it again", async () => {
    const { claim } = run(open());
    const twenty = await Promise.all(Array.from({ length: 20 }, (_, n) => claim("a", `2026-01-01T12:0${n % 2}`)));
    expect(twenty.filter(Boolean)).toHaveLength(2);
    expect(await claim("a", "2026-01-01T12:01")).toBe(false);
    expect(await claim("b", "2026-01-01T12:01")).toBe(true);
  });

  it("a clock that was ahead for a moment keeps no later minute from running", async () => {
    const { claim } = run(open());
    expect(await claim("a", "2026-01-02T12:00")).toBe(true);
    expect(await claim("a", "2026-01-01T12:01")).toBe(true);
    expect(await claim("a", "2026-01-02T12:00")).toBe(false);
  });
});

describe("minutes that were begun", () => {
  const left = (job: string) => ({ job, first: "2026-01-01T12:00:00.000Z", last: "2026-01-01T12:00:00.000Z", count: 1, at: 7, unsure: true });

  it("FAULT-18 what a run of the node that is over had begun and not ended is recorded by the next one, once", async () => {
    const store = open();
    const earlier = run(store);
    for (const job of ["a", "b", "ended"]) await earlier.claim(job, "2026-01-01T12:00");
    await earlier.end("ended", "2026-01-01T12:00");
    // Its own are at work.
    expect(await earlier.takeLeft("missed", 7)).toEqual([]);
    const next = run(store);
    expect(await next.claim("a", "2026-01-01T12:00")).toBe(false);
    await next.claim("a", "2026-01-01T12:01");
    const both = (await Promise.all([next.takeLeft("missed", 7), next.takeLeft("missed", 7)])).flat();
    expect(both.toSorted((one, two) => one.job.localeCompare(two.job))).toEqual([left("a"), left("b")]);
    expect((await store.journal("missed").tail(10)).map(({ value }) => value)).toHaveLength(2);
    expect(await next.takeLeft("missed", 7)).toEqual([]);
  });

  it("of another node it is left alone while that one lives, and recorded by the first that finds it dead", async () => {
    const store = open();
    await run(store, "n1").claim("a", "2026-01-01T12:00");
    expect(await run(store, "n2").takeLeft("missed", 7)).toEqual([]);
    expect(await run(store, "n3", ["n1"]).takeLeft("missed", 7)).toEqual([left("a")]);
    expect(await run(store, "n1").takeLeft("missed", 7)).toEqual([]);
  });

  it("of a thousand jobs none is left out", async () => {
    const store = open();
    const earlier = run(store);
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => earlier.claim(`job-${n}`, "2026-01-01T12:00")));
    expect(await run(store).takeLeft("missed", 7)).toHaveLength(1_000);
  });
});
