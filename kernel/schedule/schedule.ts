import type { Log } from "@svc/sdk";
import { type Cron, parseCron } from "./cron.ts";
import { matches, nextTimes } from "./matcher.ts";
import { MINUTE, type Zone, zoneOf } from "./zone.ts";

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
  let driver: Promise<{ cancel(): boolean }> | undefined;
  let stopped = false;

  function tick(): void {
    const minute = Math.floor(now() / MINUTE);
    // A clock set back: these minutes have been decided.
    if (minute <= lastMinute) return;
    const missed = minute - lastMinute > 1 ? new Date(lastMinute * MINUTE) : undefined;
    lastMinute = minute;
    const at = new Date(minute * MINUTE);
    for (const { cron, zone, jobs } of buckets.values()) {
      if (missed !== undefined) reportMissed(cron, zone, jobs, missed, at);
      if (matches(cron, zone, minute)) for (const job of jobs.values()) void fire(job, at);
    }
  }

  function reportMissed(cron: Cron, zone: Zone, jobs: ReadonlyMap<string, Job>, from: Date, to: Date): void {
    const [first] = nextTimes(cron, zone, from, 1);
    if (first === undefined || first >= to) return;
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

  function drive(): void {
    driver ??= import("node-schedule").then(({ default: { scheduleJob } }) => {
      const job = scheduleJob("* * * * *", tick);
      if (stopped) job.cancel();
      return job;
    });
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
      drive();
      return () => {
        if (buckets.get(where)?.jobs.get(id) === job) remove(id);
      };
    },
    after(ms, run) {
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
    },
    every(ms, run) {
      let running = false;
      const timer = setInterval(async () => {
        if (running) return;
        running = true;
        try {
          await run();
        } catch (error) {
          log.error({ err: error }, "a repeated job failed");
        } finally {
          running = false;
        }
      }, ms).unref();
      const stop = () => {
        clearInterval(timer);
        stops.delete(stop);
      };
      stops.add(stop);
      return stop;
    },
    stop() {
      stopped = true;
      for (const stop of [...stops]) stop();
      buckets.clear();
      whereOf.clear();
      void driver?.then((job) => job.cancel());
    },
  };
}
