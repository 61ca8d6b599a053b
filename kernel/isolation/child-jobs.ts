import type { Jobs, TimeRange } from "@svc/sdk";
import { intervalOf, timeOf } from "../base/timers.ts";
import type { ChildCalls } from "./child-calls.ts";
import type { Args } from "./frames.ts";

/** The checks of the daemon's schedule, for a plugin that declares `jobs`. */
export interface ScheduleChecks {
  parseCron(expression: string): unknown;
  zoneOf(name: string): unknown;
  timesOf(expression: string, timezone?: string, range?: TimeRange): readonly Date[];
}

/** `ctx.jobs` over the wire: the daemon keeps the time and calls back. */
export function remoteJobs({ ask, notify, keep }: ChildCalls, checks: ScheduleChecks): Jobs {
  const timer = (on: string, when: Args, run: () => unknown): (() => void) => {
    const { n, forget } = keep(run);
    notify(on, { n, ...when });
    return () => {
      forget();
      notify("jobs.end", { n });
    };
  };
  const once = (on: string, when: Args, run: () => unknown): (() => void) => {
    const end = timer(on, when, () => {
      end();
      return run();
    });
    return end;
  };
  return {
    cron(id, expression, timezone, run) {
      // Validates here, in the plugin's own call, the arguments that the daemon would refuse.
      checks.parseCron(expression);
      checks.zoneOf(timezone ?? "UTC");
      const { n, forget } = keep((minute: number) => run(new Date(minute)));
      notify("jobs.cron", { n, id, expression, ...(timezone === undefined ? {} : { timezone }) });
      return () => {
        forget();
        notify("jobs.end", { n, id });
      };
    },
    after: (ms, run) => once("jobs.after", { ms }, run),
    at: (time, run) => once("jobs.at", { time: timeOf(time) }, run),
    next: async (expression, timezone, range) => checks.timesOf(expression, timezone, range),
    missed: (id) => ask("jobs.missed", { id }),
    every: (ms, run) => timer("jobs.every", { ms: intervalOf(ms) }, run),
  };
}
