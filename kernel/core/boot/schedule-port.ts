import type { Log, MissedMinutes, Store, StoreNode } from "@svc/sdk";
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
  /** Reports the runs missed since the last tick of an earlier schedule, for the jobs that exist unchanged, and records the current jobs from then on. */
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
  /** This daemon had claimed it: no other one has run it. */
  readonly claimed?: true;
}

/** Progress of a schedule. */
export interface Looked {
  /** In Unix minutes. */
  readonly minute: number;
  /** The jobs it had then, by id, and when each runs: its zone and expression. */
  readonly jobs: ReadonlyMap<string, string>;
}

/** The collection in which a minute of a job is claimed. */
export const MINUTES = "minutes";

/** Persistent facts about jobs, beside their claims: which exist, the progress of the schedule, and missed runs. */
export interface JobBook {
  /** Progress and jobs of an earlier run of the daemon; undefined if there was none. */
  earlier(): Promise<Looked | undefined>;
  /** Stores the last tick, with the jobs that changed since the previous call. Calls during a write are coalesced to the newest. */
  looked(looked: Looked): Promise<void>;
  /** The latest Unix minute that another daemon on the same state has processed. */
  lookedByOthers(): Promise<number>;
  /** Records the decision (FAULT-18). The newest thousand are kept. */
  missed(spans: readonly MissedSpan[], at: number): Promise<void>;
  /** Missed minutes of a job, oldest first. */
  missedBy(job: string): Promise<readonly MissedMinutes[]>;
}

/** Dependencies of the jobs of a kernel. */
export interface JobsDeps {
  /** Each node has its own jobs, and looks for itself. */
  readonly node: string;
  readonly store: Store;
  readonly log: Log;
  readonly bus: Pick<Bus, "publish">;
  readonly now: () => number;
  /** The daemons on the state; absent where this one has it alone. */
  readonly nodes?: (() => Promise<readonly StoreNode[]>) | undefined;
}

/** Part that provides the clock of jobs and their persistent facts. */
export interface SchedulePart {
  createJobs(deps: JobsDeps): { readonly schedule: Schedule; readonly book: JobBook };
}
