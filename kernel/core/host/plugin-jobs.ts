import { codeOf, type Jobs } from "@svc/sdk";
import { timesOf } from "../../base/calendar/times.ts";
import { timeOf } from "../../base/timers.ts";
import type { JobBook, Schedule } from "../boot/schedule-port.ts";
import { inScope } from "./call.ts";
import { requireDeclared } from "./registered.ts";
import { onDispose, type Scope } from "./scope.ts";

/** Wraps the scheduler for one plugin: its jobs end with it and run in its name, and their errors are counted against it. */
export function scopedJobs(
  scope: Scope,
  schedule: Schedule,
  book: Pick<JobBook, "missedBy">,
  failed: (scope: Scope, what: string, error: unknown) => void,
): Jobs {
  /** A refusal because the daemon is draining is not a failure of the plugin. */
  const guarded = async (what: string, work: () => unknown, refused: (error: unknown) => void = () => {}) => {
    try {
      await inScope(scope, work);
    } catch (error) {
      if (codeOf(error) === "SVC_DAEMON_DRAINING") refused(error);
      else failed(scope, what, error);
    }
  };
  /** The schedule itself reports a run that was refused. */
  const tell = (error: unknown): never => {
    throw error;
  };
  const once = (arm: (fire: () => void) => () => void, run: () => unknown) => {
    const stop = arm(() => {
      scope.disposers.delete(stop);
      void guarded("timer", run);
    });
    return onDispose(scope, stop);
  };
  const idOf = (id: string) => `${scope.id}/${id}`;
  return declaredJobs(scope, {
    cron: (id, expression, timezone, run) =>
      onDispose(
        scope,
        schedule.cron(idOf(id), expression, timezone, (minute) => guarded(`job ${id}`, () => run(minute), tell)),
      ),
    after: (ms, run) => once((fire) => schedule.after(ms, fire), run),
    at(time, run) {
      const due = timeOf(time);
      return once((fire) => schedule.at(due, fire), run);
    },
    every: (ms, run) =>
      onDispose(
        scope,
        schedule.every(ms, () => guarded("timer", run)),
      ),
    next: async (expression, timezone, range) => timesOf(expression, timezone, range),
    missed: (id) => book.missedBy(idOf(id)),
  });
}

/** Wraps the jobs so that cron jobs count among the registrations of a plugin. */
export function declaredJobs(scope: Scope, jobs: Jobs): Jobs {
  return {
    ...jobs,
    cron(id, expression, timezone, run) {
      const named = `cron ${id} ${expression}`;
      requireDeclared(scope, named);
      const end = jobs.cron(id, expression, timezone, run);
      scope.cronJobs.add(named);
      return () => {
        scope.cronJobs.delete(named);
        end();
      };
    },
  };
}
