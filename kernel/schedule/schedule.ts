import { AsyncResource } from "node:async_hooks";
import { codeOf, type Log } from "@svc/sdk";
import { type Cron, parseCron } from "../base/calendar/cron.ts";
import { matches, spanOf } from "../base/calendar/matcher.ts";
import { MINUTE, type Zone, zoneOf } from "../base/calendar/zone.ts";
import { createTimers, intervalOf, type Timers } from "../base/timers.ts";
import type { Looked, MissedSpan, Schedule } from "../core/boot/schedule-port.ts";
import { minuteOf } from "./begun-minutes.ts";

type ScheduleJob = typeof import("node-schedule").scheduleJob;

/** Options of a schedule: the claim that makes a minute run once, a log, and callbacks for missed minutes. */
export interface ScheduleOptions {
  /** True for exactly one caller per job and minute, over restarts too: this makes a doubled run impossible. */
  readonly claim: (job: string, minute: string) => Promise<boolean>;
  /** The run of a claimed minute has ended, well or not. */
  readonly end?: (job: string, minute: string) => void;
  readonly log: Log;
  readonly now?: () => number;
  /** Called with missed minutes of jobs: the machine was suspended, its clock jumped, the daemon accepted no work, or was down. They are not made up for. */
  readonly onMissed?: (missed: readonly MissedSpan[]) => void;
  /** Called after each tick, for `since` of the next schedule. `jobs` is live: copy the parts to keep. */
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

const MISSED_COUNTED = 1_000;
/** Delay before a change of the jobs is noted: simultaneous changes are noted once. */
const NOTED_MS = 1_000;

/** Creates a schedule; its clock starts with the first job. `tick` is for tests. */
export const createSchedule = (options: ScheduleOptions): Schedule & { tick(): void } => new MinuteSchedule(options);

class MinuteSchedule implements Schedule {
  readonly #options: ScheduleOptions;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  /** Job id to its zone and expression. */
  readonly #whereOf = new Map<string, string>();
  readonly #timers: Timers;
  /** Jobs run where the schedule was made, not in the root or plugin of the first registration. */
  readonly #outside = new AsyncResource("svc.schedule");
  readonly #began: number;
  #lastMinute: number;
  /** The latest minute ever seen: up to it nothing counts as missed. */
  #latest: number;
  #driven = false;
  #armed: { cancel(): boolean } | null = null;
  #stopped = false;
  #onHold = false;
  /** The notes of an earlier schedule were read, and may be overwritten. */
  #open = false;
  #noting = false;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#timers = createTimers(this.#now);
    this.#began = this.#lastMinute = this.#latest = Math.floor(this.#now() / MINUTE);
  }

  cron(id: string, expression: string, timezone: string | undefined = "UTC", run: Job["run"]): () => void {
    const where = `${timezone} ${expression}`;
    const bucket = this.#buckets.get(where) ?? { cron: parseCron(expression), zone: zoneOf(timezone), jobs: new Map() };
    this.#remove(id);
    this.#buckets.set(where, bucket);
    this.#whereOf.set(id, where);
    const job: Job = { id, run };
    bucket.jobs.set(id, job);
    if (!this.#driven) this.#outside.runInAsyncScope(() => void this.#drive());
    this.#noteSoon();
    return () => {
      if (this.#buckets.get(where)?.jobs.get(id) === job) this.#remove(id);
    };
  }

  after(ms: number, run: () => void): () => void {
    return this.#timers.after(ms, run);
  }

  at(time: number, run: () => void): () => void {
    return this.#timers.at(time, run);
  }

  every(interval: number, run: () => Promise<void> | void): () => void {
    const ms = intervalOf(interval);
    let stopNext = (): void => {};
    let running = false;
    const again = () => {
      stopNext = this.after(ms, async () => {
        again();
        if (running) return;
        running = true;
        try {
          await run();
        } catch (error) {
          this.#options.log.error({ err: error }, "a repeated job failed");
        } finally {
          running = false;
        }
      });
    };
    this.#outside.runInAsyncScope(again);
    return () => stopNext();
  }

  async hold(): Promise<void> {
    this.#onHold = true;
    await this.#options.onLook?.({ minute: this.#latest, jobs: this.#whereOf });
  }

  resume(): void {
    this.#onHold = false;
  }

  async since(earlier: Looked | undefined): Promise<void> {
    if (earlier !== undefined) await this.#reportMissed(earlier.minute, this.#began + 1, (id, where) => earlier.jobs.get(id) === where);
    this.#open = true;
    this.#noteSoon();
  }

  stop(): void {
    this.#stopped = true;
    this.#timers.stop();
    this.#buckets.clear();
    this.#whereOf.clear();
    this.#armed?.cancel();
  }

  tick(): void {
    const minute = Math.floor(this.#now() / MINUTE);
    if (this.#onHold || minute === this.#lastMinute) return;
    // Jobs follow the clock back: minutes that ran already are claimed, and a clock that was briefly ahead must not silence the jobs.
    if (minute < this.#lastMinute)
      this.#options.log.warn(
        { from: new Date(this.#lastMinute * MINUTE).toISOString() },
        "the clock was set back; jobs follow it, and none runs twice for one minute",
      );
    this.#lastMinute = minute;
    if (minute - this.#latest > 1) void this.#reportMissed(this.#latest, minute, () => true);
    this.#latest = Math.max(this.#latest, minute);
    const at = new Date(minute * MINUTE);
    for (const { cron, zone, jobs } of this.#buckets.values()) if (matches(cron, zone, minute)) for (const job of jobs.values()) void this.#fire(job, at);
    void this.#options.onLook?.({ minute: this.#latest, jobs: this.#whereOf });
  }

  /** Note the jobs soon: a process that dies before the first minute is over has recorded them then. */
  #noteSoon(): void {
    if (!this.#open || this.#noting || this.#whereOf.size === 0) return;
    this.#noting = true;
    this.#timers.after(NOTED_MS, () => {
      this.#noting = false;
      if (!this.#onHold) void this.#options.onLook?.({ minute: this.#latest, jobs: this.#whereOf });
    });
  }

  /** Unix minutes, both exclusive. One expression and zone at a time: years of minutes must not block the event loop. */
  async #reportMissed(from: number, to: number, counts: (id: string, where: string) => boolean): Promise<void> {
    const asked = [...this.#buckets].map(([where, { cron, zone, jobs }]) => ({ cron, zone, ids: [...jobs.keys()].filter((id) => counts(id, where)) }));
    const missed: MissedSpan[] = [];
    for (const { cron, zone, ids } of asked) {
      const span = ids.length === 0 ? undefined : spanOf(cron, zone, new Date(from * MINUTE), new Date(to * MINUTE), MISSED_COUNTED);
      if (span !== undefined) missed.push(...ids.map((job) => ({ job, ...span })));
      await new Promise(setImmediate);
    }
    if (missed.length > 0) this.#options.onMissed?.(missed);
  }

  async #fire(job: Job, minute: Date): Promise<void> {
    const { claim, end, log, onMissed } = this.#options;
    const name = minuteOf(minute);
    let claimed = false;
    try {
      claimed = await claim(job.id, name);
      if (!claimed) return;
      await job.run(minute);
      end?.(job.id, name);
    } catch (error) {
      // The stop began while the claim ran: the minute is over, and no plugin has failed.
      const stopping = codeOf(error) === "SVC_DAEMON_DRAINING";
      if (!stopping)
        log.error({ job: job.id, err: error }, claimed ? "a scheduled job failed" : "a scheduled job was not begun: its minute could not be claimed");
      // What is missed has ended once that is recorded.
      if (stopping || !claimed) onMissed?.([{ job: job.id, first: minute, last: minute, count: 1, more: false, ...(claimed ? { claimed } : {}) }]);
      else end?.(job.id, name);
    }
  }

  /**
   * One tick at a time, armed anew for the next minute that the clock shows: a recurring rule follows a calendar of its own, and
   * after a jump forward fires every minute in between in a storm.
   */
  #arm(scheduleJob: ScheduleJob): void {
    if (this.#stopped) return;
    // The alarm is set by the machine's clock, the minute is that of the schedule's.
    const ahead = Date.now() - this.#now();
    this.#armed = scheduleJob(new Date((Math.floor((Date.now() - ahead) / MINUTE) + 1) * MINUTE + ahead), () => {
      this.#outside.runInAsyncScope(() => this.tick());
      this.#arm(scheduleJob);
    });
    // The minute began meanwhile, and node-schedule takes no time that is over.
    if (this.#armed === null) this.#arm(scheduleJob);
  }

  /** node-schedule serves as the alarm clock for the next minute; calendar, zones and matching are in this folder. */
  async #drive(): Promise<void> {
    this.#driven = true;
    const { scheduleJob } = (await import("node-schedule")).default;
    if (this.#stopped) return;
    this.#arm(scheduleJob);
    // A clock set back leaves the armed minute as far ahead as it was set back, also when it is right again a moment later.
    this.#timers.again(MINUTE, () => {
      this.#outside.runInAsyncScope(() => this.tick());
      this.#armed?.cancel();
      this.#arm(scheduleJob);
    });
  }

  #remove(id: string): void {
    const where = this.#whereOf.get(id);
    if (where === undefined) return;
    const bucket = this.#buckets.get(where);
    bucket?.jobs.delete(id);
    if (bucket?.jobs.size === 0) this.#buckets.delete(where);
    this.#whereOf.delete(id);
  }
}
