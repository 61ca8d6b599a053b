import { append, type Op, put, type Store } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { openStore } from "../../test/kit/store.ts";
import { createLog } from "../base/log.ts";
import { stateStore } from "../base/state-store.ts";
import type { Bus } from "../core/bus/bus.ts";
import { createJobs } from "./jobs.ts";

it("FAULT-18 what a full store cannot record as missed is recorded once there is room, and told then", { timeout: 30_000 }, async () => {
  const stored: Op[] = [];
  const told: string[] = [];
  let at = Date.parse("2026-01-01T11:59:30Z");
  let full = true;
  let refused = 0;
  const taken = async (ops: readonly Op[]) => {
    refused += full ? 1 : 0;
    if (full) throw Object.assign(new Error("the disk is full"), { code: "SVC_STORE_FULL" });
    stored.push(...ops);
  };
  const store = {
    collection: () => ({ get: async () => undefined, list: async () => [], put: () => taken([]) }),
    journal: () => ({ tail: async () => [], trim: async () => {} }),
    lease: async () => ({ held: true }),
    commit: taken,
  } as unknown as Store;
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const bus = { publish: ({ summary }: { summary: string }) => void told.push(summary) } as unknown as Bus;
  const { schedule } = createJobs({ node: "n1", store, log, bus, now: () => at });
  schedule.cron("hourly", "0 * * * *", undefined, async () => {});
  at = Date.parse("2026-01-01T12:00:00Z");
  (schedule as typeof schedule & { tick(): void }).tick();
  // The claim of the minute, what was looked at, and the first try to record that the minute was missed.
  await vi.waitFor(() => expect(refused).toBeGreaterThanOrEqual(3));
  expect(told).toEqual([]);
  full = false;
  await vi.waitFor(() => expect(told).toEqual([expect.stringContaining("minutes of 1 jobs were missed")]), { timeout: 20_000 });
  expect(stored.filter(({ op }) => op === append("", 0).op)).toMatchObject([{ value: { job: "hourly", first: "2026-01-01T12:00:00.000Z", count: 1 } }]);
  schedule.stop();
});

it("FAULT-18 a minute that was refused while the daemon stops is missed for sure: no later run says that it is not known", async () => {
  const store = stateStore(openStore({ file: ":memory:", log: createLog({ destination: "none", secrets: () => [] }) })).scope("core");
  const told: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const bus = { publish: ({ summary }: { summary: string }) => void told.push(summary) } as unknown as Bus;
  let at = Date.parse("2026-01-01T11:59:30Z");
  const deps = { node: "n1", store, log, bus, now: () => at };
  // Another daemon has looked further by now, and has the lease: only this one knows of the minute that it has claimed.
  await store.commit([put("marks", "schedule n2", { minute: Math.floor(Date.parse("2026-01-02T12:00:00Z") / 60_000) })]);
  const taken = { ...store, lease: async () => ({ held: false }) } as unknown as Store;
  const { schedule, book } = createJobs({ ...deps, store: taken });
  schedule.cron("hourly", "0 * * * *", undefined, async () => {
    throw Object.assign(new Error("the daemon stops"), { code: "SVC_DAEMON_DRAINING" });
  });
  at = Date.parse("2026-01-01T12:00:00Z");
  (schedule as typeof schedule & { tick(): void }).tick();
  await vi.waitFor(async () => expect(await book.missedBy("hourly")).toMatchObject([{ first: "2026-01-01T12:00:00.000Z", count: 1 }]));
  schedule.stop();
  const next = createJobs(deps);
  await next.schedule.hold();
  expect(await next.book.missedBy("hourly")).toHaveLength(1);
  expect(told).toEqual([expect.stringContaining("were missed")]);
  next.schedule.stop();
});
