import { AsyncResource } from "node:async_hooks";
import type { Log } from "@svc/sdk";
import { type Cron, parseCron } from "./cron.ts";
import { matches, spanOf } from "./matcher.ts";
import { MINUTE, type Zone, zoneOf } from "./zone.ts";

type ScheduleJob = typeof import("node-schedule").scheduleJob;

/** Work by the clock: one tick a minute for any number of jobs. */
export interface Schedule {
  /** Runs `run` in each matching minute for which `claim` answers true. Registering an id again replaces it. Throws `SVC_CRON_INVALID`. */
  cron(id: string, expression: string, timezone: string | undefined, run: (minute: Date) => Promise<void>): () => void;
  /** Once, after any number of milliseconds. */
  after(ms: number, run: () => void): () => void;
  /** Again and again; a run that takes longer than the interval is not started a second time beside itself. */
  every(ms: number, run: () => Promise<void> | void): () => void;
  /** No job by the calendar runs until `resume`: minutes that pass meanwhile are missed ones. Resolves when that is noted. */
  hold(): Promise<void>;
  resume(): void;
  /** Tells what was missed since an earlier schedule looked last, of the jobs that are here now as they were then. */
  since(earlier: Looked): Promise<void>;
  /** No further run starts. */
  stop(): void;
}

/** Minutes of a job that passed without it, counted up to a thousand. */
export interface MissedSpan {
  readonly job: string;
  readonly first: Date;
  readonly last: Date;
  readonly count: number;
  /** There were more than were counted. */
  readonly more: boolean;
}

/** How far a schedule has looked. */
export interface Looked {
  /** In Unix minutes. */
  readonly minute: number;
  /** The jobs it had then, by id, and when each runs: its zone and expression. */
  readonly jobs: ReadonlyMap<string, string>;
}

/** What a schedule needs: the claim that makes a minute run once, a log, and who hears of missed minutes. */
export interface ScheduleOptions {
  /** True for exactly one caller per job and minute, over restarts too: this makes a doubled run impossible. */
  readonly claim: (job: string, minute: string) => Promise<boolean>;
  readonly log: Log;
  readonly now?: () => number;
  /**
   * Told what passed in which jobs should have run: the machine slept, its clock jumped, nothing was taken on, or nothing ran at all.
   * It is not made up for.
   */
  readonly onMissed?: (missed: readonly MissedSpan[]) => void;
  /** Told after each look at the clock, for `since` of the next schedule. The jobs are live: copy what is kept. */
  readonly onLook?: (looked: Looked) => Promise<void>;
}

interface Job {
  readonly id: string;
  readonly run: (minute: Date) => Promise<void>;
}

/** Jobs with the same expression and zone match together. */
interface Bucket {
  readonly cron: Cron;
  readonly zone: Zone;
  readonly jobs: Map<string, Job>;
}

/** setTimeout takes 24.8 days at most; anything longer fires at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;
const MISSED_COUNTED = 1_000;

/** Makes a schedule; its clock runs from the first job on. `tick` is there for tests. */
export function createSchedule({ claim, log, now = Date.now, onMissed = () => {}, onLook = async () => {} }: ScheduleOptions): Schedule & { tick(): void } {
  const buckets = new Map<string, Bucket>();
  const whereOf = new Map<string, string>();
  const stops = new Set<() => void>();
  let lastMinute = Math.floor(now() / MINUTE);
  /** The latest one ever seen: up to it nothing counts as missed. */
  let latest = lastMinute;
  /** Jobs run where the schedule was made, not in the root or plugin of the first registration. */
  const outside = new AsyncResource("svc.schedule");
  let driven = false;
  let armed: { cancel(): boolean } | null = null;
  let stopped = false;
  let held = false;
  const began = lastMinute;

  function tick(): void {
    const minute = Math.floor(now() / MINUTE);
    if (held || minute === lastMinute) return;
    // Jobs follow the clock back: what has run already is claimed, and a clock that was ahead for a moment must not silence them.
    if (minute < lastMinute)
      log.warn({ from: new Date(lastMinute * MINUTE).toISOString() }, "the clock was set back; jobs follow it, and none runs twice for one minute");
    lastMinute = minute;
    if (minute - latest > 1) void tellMissed(latest, minute, () => true);
    latest = Math.max(latest, minute);
    const at = new Date(minute * MINUTE);
    for (const { cron, zone, jobs } of buckets.values()) if (matches(cron, zone, minute)) for (const job of jobs.values()) void fire(job, at);
    void onLook({ minute: latest, jobs: whereOf });
  }

  /** Unix minutes, both exclusive. One expression and zone at a time: years of minutes must not hold up what else there is to do. */
  async function tellMissed(from: number, to: number, counts: (id: string, where: string) => boolean): Promise<void> {
    const asked = [...buckets].map(([where, { cron, zone, jobs }]) => ({ cron, zone, ids: [...jobs.keys()].filter((id) => counts(id, where)) }));
    const missed: MissedSpan[] = [];
    for (const { cron, zone, ids } of asked) {
      const span = ids.length === 0 ? undefined : spanOf(cron, zone, new Date(from * MINUTE), new Date(to * MINUTE), MISSED_COUNTED);
      if (span !== undefined) missed.push(...ids.map((job) => ({ job, ...span })));
      await new Promise(setImmediate);
    }
    if (missed.length > 0) onMissed(missed);
  }

  async function fire(job: Job, minute: Date): Promise<void> {
    try {
      if (await claim(job.id, minute.toISOString().slice(0, 16))) await job.run(minute);
    } catch (error) {
      // The stop began while the claim ran: the minute is over, and no plugin has failed.
      if ((error as { code?: string } | null | undefined)?.code === "SVC_DAEMON_DRAINING")
        onMissed([{ job: job.id, first: minute, last: minute, count: 1, more: false }]);
      else log.error({ job: job.id, err: error }, "a scheduled job failed");
    }
  }

  /**
   * One tick at a time, armed anew for the next minute that the clock shows: a recurring rule follows a calendar of its own, and
   * after a jump forward fires every minute in between in a storm.
   */
  function arm(scheduleJob: ScheduleJob): void {
    if (stopped) return;
    armed = scheduleJob(new Date((Math.floor(Date.now() / MINUTE) + 1) * MINUTE), () => {
      outside.runInAsyncScope(tick);
      arm(scheduleJob);
    });
    // The minute began meanwhile, and node-schedule takes no time that is over.
    if (armed === null) arm(scheduleJob);
  }

  async function drive(): Promise<void> {
    driven = true;
    const { scheduleJob } = (await import("node-schedule")).default;
    if (stopped) return;
    arm(scheduleJob);
    // A clock set back leaves the armed minute as far ahead as it was set back, also when it is right again a moment later.
    const look = setInterval(() => {
      outside.runInAsyncScope(tick);
      armed?.cancel();
      arm(scheduleJob);
    }, MINUTE).unref();
    stops.add(() => clearInterval(look));
  }

  function after(ms: number, run: () => void): () => void {
    const due = performance.now() + ms;
    let timer: NodeJS.Timeout;
    const stop = () => {
      clearTimeout(timer);
      stops.delete(stop);
    };
    const wait = () => {
      const left = due - performance.now();
      timer = setTimeout(left > LONGEST_TIMEOUT ? wait : finish, Math.max(0, Math.min(left, LONGEST_TIMEOUT))).unref();
    };
    const finish = () => {
      stops.delete(stop);
      run();
    };
    stops.add(stop);
    wait();
    return stop;
  }

  function remove(id: string): void {
    const where = whereOf.get(id);
    if (where === undefined) return;
    const bucket = buckets.get(where);
    bucket?.jobs.delete(id);
    if (bucket?.jobs.size === 0) buckets.delete(where);
    whereOf.delete(id);
  }

  return {
    tick,
    cron(id, expression, timezone = "UTC", run) {
      const where = `${timezone} ${expression}`;
      const bucket = buckets.get(where) ?? { cron: parseCron(expression), zone: zoneOf(timezone), jobs: new Map() };
      remove(id);
      buckets.set(where, bucket);
      whereOf.set(id, where);
      const job: Job = { id, run };
      bucket.jobs.set(id, job);
      if (!driven) outside.runInAsyncScope(drive);
      return () => {
        if (buckets.get(where)?.jobs.get(id) === job) remove(id);
      };
    },
    after,
    every(ms, run) {
      let stopNext = (): void => {};
      let running = false;
      const again = () => {
        stopNext = after(ms, async () => {
          again();
          if (running) return;
          running = true;
          try {
            await run();
          } catch (error) {
            log.error({ err: error }, "a repeated job failed");
          } finally {
            running = false;
          }
        });
      };
      outside.runInAsyncScope(again);
      return () => stopNext();
    },
    async hold() {
      held = true;
      await onLook({ minute: latest, jobs: whereOf });
    },
    resume() {
      held = false;
    },
    since: ({ minute, jobs }) => tellMissed(minute, began + 1, (id, where) => jobs.get(id) === where),
    stop() {
      stopped = true;
      for (const stop of [...stops]) stop();
      buckets.clear();
      whereOf.clear();
      armed?.cancel();
    },
  };
}
