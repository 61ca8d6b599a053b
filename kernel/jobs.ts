import type { Jobs } from "@svc/sdk";
import { within } from "./host/call.ts";
import type { Scope } from "./host/scope.ts";
import type { Schedule } from "./schedule/index.ts";

/** The scheduler for one plugin: its jobs end with it, run in its name, and what they throw is counted against it. */
export function scopedJobs(scope: Scope, schedule: Schedule, failed: (scope: Scope, what: string, error: unknown) => void): Jobs {
  const guarded = async (what: string, work: () => unknown) => {
    try {
      await within(scope, work);
    } catch (error) {
      failed(scope, what, error);
    }
  };
  const owned = (stop: () => void) => {
    scope.disposers.push(stop);
    return stop;
  };
  return {
    cron: (id, expression, timezone, run) =>
      owned(schedule.cron(`${scope.id}/${id}`, expression, timezone, (minute) => guarded(`job ${id}`, () => run(minute)))),
    after: (ms, run) => owned(schedule.after(ms, () => void guarded("timer", run))),
    every: (ms, run) => owned(schedule.every(ms, () => guarded("timer", run))),
  };
}
