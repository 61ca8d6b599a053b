import type { Log, MissedMinutes, Store } from "@svc/sdk";
import type { Bus } from "../bus/bus.ts";

/** Work by the clock: one tick a minute for any number of jobs. */
export interface Schedule {
  /** Runs `run` in each matching minute for which `claim` answers true. Registering an id again replaces it. Throws `SVC_CRON_INVALID`. */
  cron(id: string, expression: string, timezone: string | undefined, run: (minute: Date) => Promise<void>): () => void;
  /** Once, after any number of milliseconds. */
  after(ms: number, run: () => void): () => void;
  /** Once, when the wall clock shows `time` or later, in Unix milliseconds; `run` must not throw. */
  at(time: number, run: () => void): () => void;
  /** Again and again; a run that takes longer than the interval is not started a second time beside itself. */
  every(ms: number, run: () => Promise<void> | void): () => void;
  /** No job by the calendar runs until `resume`: minutes that pass meanwhile are missed ones. Resolves when that is noted. */
  hold(): Promise<void>;
  resume(): void;
  /** Tells what was missed since an earlier schedule looked last, of the jobs that are here now as they were then, and notes from then on which there are. */
  since(earlier: Looked | undefined): Promise<void>;
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

/** The collection in which a minute of a job is claimed. */
export const MINUTES = "minutes";

/** What the store keeps of jobs over restarts, beside their claims: which there are, how far was looked, and what they missed. */
export interface JobBook {
  /** How far an earlier run of the daemon looked and the jobs it had then; undefined where there was none. */
  earlier(): Promise<Looked | undefined>;
  /** Notes how far was looked, with what has changed among the jobs since the last time. Asked again meanwhile, only the newest counts. */
  looked(looked: Looked): Promise<void>;
  /** The latest Unix minute that another daemon on the same state has looked at. */
  lookedByOthers(): Promise<number>;
  /** Records the decision (FAULT-18). The newest thousand are kept. */
  missed(spans: readonly MissedSpan[], at: number): Promise<void>;
  /** What a job missed, oldest first. */
  missedBy(job: string): Promise<readonly MissedMinutes[]>;
}

/** What the jobs of a kernel stand on. */
export interface JobsDeps {
  /** Each node has its own jobs, and looks for itself. */
  readonly node: string;
  readonly store: Store;
  readonly log: Log;
  readonly bus: Pick<Bus, "publish">;
  readonly now: () => number;
}

/** The room that keeps time for jobs, and what is remembered of them. */
export interface SchedulePart {
  createJobs(deps: JobsDeps): { readonly schedule: Schedule; readonly book: JobBook };
}
