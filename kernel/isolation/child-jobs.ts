import type { Jobs } from "@svc/sdk";
import type { ChildCalls } from "./child-calls.ts";

/** The checks of the daemon's schedule, for a plugin that declares `jobs`. */
export interface ScheduleChecks {
  parseCron(expression: string): unknown;
  zoneOf(name: string): unknown;
}

/** `ctx.jobs` over the wire: the daemon keeps the time and calls back. */
export function remoteJobs({ ask, notify, keep }: ChildCalls, checks: ScheduleChecks): Jobs {
  const timer = (on: string, ms: number, run: () => unknown): (() => void) => {
    const { n, forget } = keep(run);
    notify(on, { n, ms });
    return () => {
      forget();
      notify("jobs.end", { n });
    };
  };
  return {
    cron(id, expression, timezone, run) {
      // What the daemon would refuse is refused here, in the plugin's own call.
      checks.parseCron(expression);
      checks.zoneOf(timezone ?? "UTC");
      const { n, forget } = keep((minute: number) => run(new Date(minute)));
      notify("jobs.cron", { n, id, expression, ...(timezone === undefined ? {} : { timezone }) });
      return () => {
        forget();
        notify("jobs.end", { n, id });
      };
    },
    after(ms, run) {
      const end = timer("jobs.after", ms, () => {
        end();
        return run();
      });
      return end;
    },
    missed: (id) => ask("jobs.missed", { id }),
    every: (ms, run) => timer("jobs.every", ms, run),
  };
}
