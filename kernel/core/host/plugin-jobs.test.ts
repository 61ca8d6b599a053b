import { expect, it, vi } from "vitest";
import { createLog } from "../../base/log.ts";
import { createSchedule } from "../../schedule/schedule.ts";
import type { MissedSpan } from "../boot/schedule-port.ts";
import { scopedJobs } from "./plugin-jobs.ts";
import { createScope, disposeScope, type Scope } from "./scope.ts";

const noBook = { missedBy: async () => [] };

it("OPS-01 a job that is refused because the daemon stops counts as a missed minute, and not against its plugin", async () => {
  const scope = createScope("feature-x" as Scope["id"], () => {});
  const log = createLog({ destination: "none", secrets: () => [] });
  const missed: MissedSpan[] = [];
  const failed = vi.fn();
  let clock = Date.parse("2026-01-01T12:00:30Z");
  const schedule = createSchedule({ claim: async () => true, log, now: () => clock, onMissed: (spans) => missed.push(...spans) });
  const jobs = scopedJobs(scope, schedule, noBook, failed);
  const refused = Object.assign(new Error("The daemon is stopping"), { code: "SVC_DAEMON_DRAINING" });
  jobs.cron("refused", "* * * * *", undefined, () => Promise.reject(refused));
  jobs.cron("broken", "* * * * *", undefined, () => Promise.reject(new Error("broken")));
  jobs.every(1, () => Promise.reject(refused));
  clock += 60_000;
  schedule.tick();
  await vi.waitFor(() => expect(missed).toHaveLength(1));
  const minute = new Date("2026-01-01T12:01:00Z");
  expect(missed).toEqual([{ job: "feature-x/refused", first: minute, last: minute, count: 1, more: false, claimed: true }]);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(failed.mock.calls.map(([, what]) => what)).toEqual(["job broken"]);
  schedule.stop();
});

it("a timer that has run, or was stopped, leaves nothing behind with its plugin; one that waits ends with it", async () => {
  const scope = createScope("feature-x" as Scope["id"], () => {});
  const schedule = createSchedule({ claim: async () => true, log: createLog({ destination: "none", secrets: () => [] }) });
  const jobs = scopedJobs(scope, schedule, noBook, () => {});
  let ran = 0;
  for (let n = 0; n < 100; n += 1) {
    jobs.after(0, () => {
      ran += 1;
    });
    jobs.after(60_000, () => {})();
  }
  await vi.waitFor(() => expect(ran).toBe(100));
  expect(scope.disposers.size).toBe(0);
  jobs.at(new Date(0), () => {
    ran += 1;
  });
  jobs.at(Date.now() + 60_000, () => {})();
  await vi.waitFor(() => expect(ran).toBe(101));
  expect(scope.disposers.size).toBe(0);
  expect(() => jobs.at(new Date("never"), () => {})).toThrow(expect.objectContaining({ code: "SVC_TIME_INVALID" }));
  const late = vi.fn();
  jobs.after(20, late);
  jobs.at(Date.now() + 20, late);
  expect(scope.disposers.size).toBe(2);
  disposeScope(scope);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(late).not.toHaveBeenCalled();
  schedule.stop();
});
