import { append, type Op, type Store } from "@svc/sdk";
import { expect, it, vi } from "vitest";
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
