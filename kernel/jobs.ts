import type { Jobs } from "@svc/sdk";
import { within } from "./host/call.ts";
import { type Scope, tie } from "./host/scope.ts";
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
  return {
    cron: (id, expression, timezone, run) =>
      tie(
        scope,
        schedule.cron(`${scope.id}/${id}`, expression, timezone, (minute) => guarded(`job ${id}`, () => run(minute))),
      ),
    after(ms, run) {
      const stop = schedule.after(ms, () => {
        scope.disposers.delete(stop);
        void guarded("timer", run);
      });
      return tie(scope, stop);
    },
    every: (ms, run) =>
      tie(
        scope,
        schedule.every(ms, () => guarded("timer", run)),
      ),
  };
}
