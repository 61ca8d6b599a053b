import { expect, it, vi } from "vitest";
import { createScope, disposeScope, type Scope } from "./host/scope.ts";
import { scopedJobs } from "./jobs.ts";
import { createLog } from "./log.ts";
import { createSchedule } from "./schedule/index.ts";

it("a timer that has run, or was stopped, leaves nothing behind with its plugin; one that waits ends with it", async () => {
  const scope = createScope("feature-x" as Scope["id"], () => {});
  const schedule = createSchedule({ claim: async () => true, log: createLog({ destination: "none", secrets: () => [] }) });
  const jobs = scopedJobs(scope, schedule, () => {});
  let ran = 0;
  for (let n = 0; n < 100; n += 1) {
    jobs.after(0, () => {
      ran += 1;
    });
    jobs.after(60_000, () => {})();
  }
  await vi.waitFor(() => expect(ran).toBe(100));
  expect(scope.disposers.size).toBe(0);
  const late = vi.fn();
  jobs.after(20, late);
  expect(scope.disposers.size).toBe(1);
  disposeScope(scope);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(late).not.toHaveBeenCalled();
  schedule.stop();
});
