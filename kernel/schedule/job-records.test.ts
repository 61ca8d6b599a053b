import { put } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { createLog } from "../base/log.ts";
import { stateStore } from "../base/state-store.ts";
import type { MissedSpan } from "../core/boot/schedule-port.ts";
import { createJobBook } from "./job-records.ts";

const silent = createLog({ destination: "none", secrets: () => [] });
const open = () => stateStore(openStore({ file: ":memory:", log: silent })).scope("core");

describe("missed minutes", () => {
  const span = (job: string, hour: number): MissedSpan => ({
    job,
    first: new Date(Date.UTC(2026, 0, 1, hour)),
    last: new Date(Date.UTC(2026, 0, 1, hour + 1)),
    count: 2,
    more: false,
  });

  it("FAULT-18 the decision is kept in the store, by job, the newest thousand", async () => {
    const store = open();
    const book = createJobBook("n1", store, silent);
    await book.missed([span("a", 1), span("b", 1), { ...span("a", 3), count: 1000, more: true }], 7);
    expect(await createJobBook("n1", store, silent).missedBy("a")).toEqual([
      { first: "2026-01-01T01:00:00.000Z", last: "2026-01-01T02:00:00.000Z", count: 2, at: 7 },
      { first: "2026-01-01T03:00:00.000Z", last: "2026-01-01T04:00:00.000Z", count: 1000, more: true, at: 7 },
    ]);
    await book.missed(
      Array.from({ length: 1100 }, () => span("c", 1)),
      8,
    );
    expect(await book.missedBy("a")).toEqual([]);
    expect(await book.missedBy("c")).toHaveLength(1000);
  });
});

describe("how far was looked", () => {
  const earlier = (store: ReturnType<typeof open>) => createJobBook("n1", store, silent).earlier();

  it("is kept with the jobs there were, also when they are many and change", async () => {
    const store = open();
    expect(await earlier(store)).toBeUndefined();
    const book = createJobBook("n1", store, silent);
    const jobs = new Map(Array.from({ length: 1200 }, (_, n) => [`job-${n}`, "UTC * * * * *"]));
    await book.looked({ minute: 5, jobs });
    expect(await earlier(store)).toEqual({ minute: 5, jobs });
    jobs.delete("job-7");
    jobs.set("job-8", "UTC 0 9 * * *");
    jobs.set("new", "UTC 0 9 * * *");
    await book.looked({ minute: 6, jobs });
    expect(await earlier(store)).toEqual({ minute: 6, jobs });
  });

  it("of looks that come while one is stored, the last counts", async () => {
    const store = open();
    const book = createJobBook("n1", store, silent);
    const jobs = new Map([["a", "UTC * * * * *"]]);
    const looks = [1, 2, 3].map((minute) => book.looked({ minute, jobs }));
    jobs.clear();
    await Promise.all(looks);
    expect(await earlier(store)).toEqual({ minute: 3, jobs: new Map([["a", "UTC * * * * *"]]) });
  });

  it("each node has its own jobs: what one no longer has, another keeps", async () => {
    const store = open();
    const [one, two] = [createJobBook("n1", store, silent), createJobBook("n2", store, silent)];
    await one.looked({ minute: 5, jobs: new Map([["a", "UTC * * * * *"]]) });
    expect(await two.earlier()).toBeUndefined();
    await two.looked({ minute: 7, jobs: new Map([["b", "UTC * * * * *"]]) });
    await two.looked({ minute: 8, jobs: new Map() });
    expect(await earlier(store)).toEqual({ minute: 5, jobs: new Map([["a", "UTC * * * * *"]]) });
  });

  it("takes over what was noted before nodes had jobs of their own, once", async () => {
    const store = open();
    await store.commit([put("jobs", "a", { when: "UTC * * * * *" }), put("jobs", "b", { when: "UTC 0 9 * * *" }), put("marks", "schedule", { minute: 3 })]);
    const book = createJobBook("n1", store, silent);
    const jobs = new Map([
      ["a", "UTC * * * * *"],
      ["b", "UTC 0 9 * * *"],
    ]);
    expect(await book.earlier()).toEqual({ minute: 3, jobs });
    jobs.delete("b");
    await book.looked({ minute: 4, jobs });
    expect(await earlier(store)).toEqual({ minute: 4, jobs });
    expect(await createJobBook("n2", store, silent).earlier()).toBeUndefined();
    expect(await store.collection("jobs").count()).toBe(1);
  });
});
