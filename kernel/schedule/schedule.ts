import { AsyncResource } from "node:async_hooks";
import type { Log } from "@svc/sdk";
import { type Cron, parseCron } from "./cron.ts";
import { matches, nextTimes } from "./matcher.ts";
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
  /** No further run starts. */
  stop(): void;
}

export interface ScheduleOptions {
  /** True for exactly one caller per job and minute, over restarts too: this makes a doubled run impossible. */
  readonly claim: (job: string, minute: string) => Promise<boolean>;
  readonly log: Log;
  readonly now?: () => number;
  /** Told once per job when minutes passed in which it should have run: the machine slept or its clock jumped. They are not made up for. */
  readonly onMissed?: (job: string, from: Date, to: Date) => void;
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

export function createSchedule({ claim, log, now = Date.now, onMissed }: ScheduleOptions): Schedule & { tick(): void } {
  const buckets = new Map<string, Bucket>();
  const whereOf = new Map<string, string>();
  const stops = new Set<() => void>();
  let lastMinute = Math.floor(now() / MINUTE);
  /** The latest one ever seen: up to it nothing counts as missed. */
  let latest = lastMinute;
  /** Jobs run where the schedule was made, not in the root or plugin of whoever happened to register first. */
  const outside = new AsyncResource("svc.schedule");
  let driven = false;
  let armed: { cancel(): boolean } | null = null;
  let stopped = false;

  function tick(): void {
    const minute = Math.floor(now() / MINUTE);
    if (minute === lastMinute) return;
    // Jobs follow the clock back: what has run already is claimed, and a clock that was ahead for a moment must not silence them.
    if (minute < lastMinute)
      log.warn({ from: new Date(lastMinute * MINUTE).toISOString() }, "the clock was set back; jobs follow it, and none runs twice for one minute");
    lastMinute = minute;
    const missed = minute - latest > 1 ? new Date(latest * MINUTE) : undefined;
    latest = Math.max(latest, minute);
    const at = new Date(minute * MINUTE);
    for (const { cron, zone, jobs } of buckets.values()) {
      if (missed !== undefined) reportMissed(cron, zone, jobs, missed, at);
      if (matches(cron, zone, minute)) for (const job of jobs.values()) void fire(job, at);
    }
  }

  function reportMissed(cron: Cron, zone: Zone, jobs: ReadonlyMap<string, Job>, from: Date, to: Date): void {
    const [first] = nextTimes(cron, zone, from, 1, to);
    if (first === undefined) return;
    for (const { id } of jobs.values()) {
      log.warn(
        { job: id, from: first.toISOString(), to: to.toISOString() },
        "minutes of this job passed while the machine slept or its clock jumped; they are not made up for",
      );
      onMissed?.(id, first, to);
    }
  }

  async function fire(job: Job, minute: Date): Promise<void> {
    try {
      if (await claim(job.id, minute.toISOString().slice(0, 16))) await job.run(minute);
    } catch (error) {
      log.error({ job: job.id, err: error }, "a scheduled job failed");
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
    stop() {
      stopped = true;
      for (const stop of [...stops]) stop();
      buckets.clear();
      whereOf.clear();
      armed?.cancel();
    },
  };
}
