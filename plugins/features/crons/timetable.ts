import type { PluginContext } from "@svc/sdk";
import type { Runner } from "./runner.ts";
import { type CronsSettings, isPending } from "./settings.ts";

/** The jobs as the clock starts them: those that are on and not waiting for a yes. */
export class Timetable {
  readonly #ctx: PluginContext<CronsSettings>;
  readonly #runner: Runner;
  /** When each job runs, and how to end that. */
  readonly #entries = new Map<string, { readonly when: string; readonly end: () => void }>();

  constructor(ctx: PluginContext<CronsSettings>, runner: Runner) {
    this.#ctx = ctx;
    this.#runner = runner;
  }

  /** Unchanged jobs stay as they are: missed minutes are recorded per job. */
  follow(jobs: CronsSettings): void {
    const wanted = Object.entries(jobs).filter(([, job]) => job.enabled && !isPending(job));
    const ids = new Set(wanted.map(([id]) => id));
    for (const [id, { end }] of this.#entries) {
      if (ids.has(id)) continue;
      end();
      this.#entries.delete(id);
    }
    for (const [id, { schedule, timezone }] of wanted) {
      const when = `${timezone} ${schedule}`;
      const before = this.#entries.get(id);
      if (before?.when === when) continue;
      before?.end();
      this.#entries.set(id, {
        when,
        end: this.#ctx.jobs.cron(id, schedule, timezone, async (minute) => void (await this.#runner.start(id, "schedule", minute))),
      });
    }
  }
}
