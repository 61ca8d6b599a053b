import { codeOf, type Doc, type Op, put, remove, type Store } from "@svc/sdk";

/** Trigger of a run. */
export type StartedBy = "schedule" | "fire" | "manual";

/** One run of a job, as it is kept. Times in Unix milliseconds. */
export interface Run {
  readonly job: string;
  readonly at: number;
  readonly by: StartedBy;
  /** The minute for which the schedule started it, ISO 8601. */
  readonly minute?: string;
  readonly kind: "agent" | "command" | "workflow";
  readonly agent: string;
  /** `interrupted`: the daemon ended in the middle, or somebody cancelled it. That is no failure of the job. */
  readonly status: "running" | "ok" | "failed" | "interrupted";
  readonly endedAt?: number;
  /** The trace of it: of an agent job. */
  readonly taskId?: string;
  readonly error?: string;
  readonly errorKind?: string;
  readonly exitCode?: number;
  /** The end of what a command said. */
  readonly output?: string;
  /** Starts that were refused because it ran. */
  readonly refused?: number;
}

/** The run that a job is in: the row that makes it one. */
export interface Lock {
  readonly run: string;
  readonly node: string;
  /** Its owner renews it; past that time, and with no owner at work, another may start. */
  readonly until: number;
}

/** State of a job over its runs. */
export interface Streak {
  /** Failures in a row. */
  readonly failures: number;
  /** The ended run whose consequences (messages, turning off) are still to come. */
  readonly owed?: string;
  /** When it was turned off after three failures. */
  readonly turnedOff?: number;
}

/** Result of a run. */
export type Outcome = Pick<Run, "error" | "errorKind" | "exitCode" | "output"> & {
  readonly status: Exclude<Run["status"], "running">;
  readonly answer?: string;
};

const RUNS = "runs";
const LOCKS = "locks";
const STREAKS = "streaks";
const LEASE_MS = 300_000;
const KEPT_PER_JOB = 200;
const KEPT_MS = 90 * 86_400_000;
const PAGE = 500;

/** Runs, locks and failures in a row: rows of the store, so that a restart changes nothing about them. */
export class RunBook {
  readonly #store: Store;
  readonly #node: string;
  readonly #now: () => number;
  readonly #runs;
  readonly #locks;
  readonly #streaks;

  constructor(store: Store, node: string, now: () => number = Date.now) {
    this.#store = store;
    this.#node = node;
    this.#now = now;
    this.#runs = store.collection<Run>(RUNS, { indexes: ["job", "at"] });
    this.#locks = store.collection<Lock>(LOCKS);
    this.#streaks = store.collection<Streak>(STREAKS);
  }

  /**
   * Begins a run, for one caller of many: the answer is its key, or the run that the job is in. `isMine` says whether this process is at
   * work on a run: then its row counts whatever the clock says.
   */
  async begin(run: Omit<Run, "at" | "status">, isMine: (key: string) => boolean): Promise<{ readonly key: string } | { readonly running: Lock }> {
    const at = this.#now();
    const key = `${run.job}/${String(at).padStart(15, "0")}-${crypto.randomUUID().slice(0, 8)}`;
    const row = put(RUNS, key, { ...run, at, status: "running" } satisfies Run);
    for (;;) {
      const held = await this.#locks.get(run.job);
      if (held !== undefined && (held.value.until > at || isMine(held.value.run))) return { running: held.value };
      try {
        await this.#store.commit([put(LOCKS, run.job, this.#lock(key), held?.version ?? "absent"), row, ...(await this.#abandoned(held))]);
        return { key };
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      }
    }
  }

  /** Notes the task of a run. */
  async tasked(key: string, taskId: string): Promise<void> {
    const run = await this.#runs.get(key);
    if (run !== undefined) await this.#runs.put(key, { ...run.value, taskId }, run.version);
  }

  /** Says that the runs are still worked on. */
  async renew(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const lock = await this.#locks.get(jobOf(key));
      if (lock?.value.run === key) await this.#locks.put(lock.key, this.#lock(key), lock.version).catch(ignoreConflict);
    }
  }

  /** Ends a run: its record, the failures in a row, what it owes and the lock, in one commit. Undefined where it has ended before. */
  async end(key: string, outcome: Outcome, refused: number): Promise<{ readonly run: Run; readonly failures: number } | undefined> {
    const { answer: _, ...facts } = outcome;
    for (;;) {
      const [run, lock, streak] = await Promise.all([this.#runs.get(key), this.#locks.get(jobOf(key)), this.#streaks.get(jobOf(key))]);
      if (run === undefined || run.value.status !== "running") return undefined;
      const before = streak?.value.failures ?? 0;
      const failures = outcome.status === "ok" ? 0 : outcome.status === "failed" ? before + 1 : before;
      const ended: Run = { ...run.value, ...facts, endedAt: this.#now(), ...(refused === 0 ? {} : { refused }) };
      const ops: Op[] = [
        put(RUNS, key, ended, run.version),
        put(STREAKS, jobOf(key), { ...streak?.value, failures, ...(outcome.status === "failed" ? { owed: key } : {}) }, streak?.version ?? "absent"),
      ];
      if (lock?.value.run === key) ops.push(remove(LOCKS, lock.key, lock.version));
      try {
        await this.#store.commit(ops);
        return { run: ended, failures };
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      }
    }
  }

  /** The consequences of a run have been drawn. With `turnedOff` the job starts from no failures when it is on again. */
  async settled(job: string, key: string, turnedOff: boolean): Promise<void> {
    await this.#change(job, (streak) => {
      const { owed, ...rest } = streak;
      const left = owed === undefined || owed === key ? rest : streak;
      return turnedOff ? { ...left, failures: 0, turnedOff: this.#now() } : left;
    });
  }

  /** The job is on again, by somebody's hand. */
  async turnedOn(job: string): Promise<void> {
    await this.#change(job, ({ turnedOff: _, ...streak }) => ({ ...streak, failures: 0 }));
  }

  async streak(job: string): Promise<Streak> {
    return (await this.#streaks.get(job))?.value ?? { failures: 0 };
  }

  async get(key: string): Promise<Run | undefined> {
    return (await this.#runs.get(key))?.value;
  }

  /** The run that a job is in. */
  async running(job: string): Promise<Lock | undefined> {
    return (await this.#locks.get(job))?.value;
  }

  /** Runs of a job, newest first. */
  async list(job: string, limit: number, before?: number): Promise<readonly (Run & { readonly id: string })[]> {
    const range = before === undefined ? {} : { to: before };
    const found = await this.#runs.list({ where: { job }, by: "at", reverse: true, limit, ...range });
    return found.map(({ key, value }) => ({ id: key.slice(job.length + 1), ...value }));
  }

  /** Runs that an earlier life of this daemon left, or whose owner has not been heard of. */
  async left(): Promise<readonly { readonly key: string; readonly run: Run }[]> {
    const locks = await allOf((after) => this.#locks.list({ limit: PAGE, ...after }));
    const mine = locks.filter(({ value }) => value.node === this.#node || value.until <= this.#now());
    const left: { key: string; run: Run }[] = [];
    for (const { key: job, version, value } of mine) {
      const run = await this.get(value.run);
      if (run?.status === "running") left.push({ key: value.run, run });
      else await this.#locks.delete(job, version).catch(ignoreConflict);
    }
    return left;
  }

  /** Consequences that a crash has kept from being drawn. */
  async owed(): Promise<readonly { readonly key: string; readonly failures: number }[]> {
    const streaks = await allOf((after) => this.#streaks.list({ limit: PAGE, ...after }));
    return streaks.flatMap(({ value: { owed, failures } }) => (owed === undefined ? [] : [{ key: owed, failures }]));
  }

  /** Keeps the newest runs of a job. */
  async prune(job: string): Promise<void> {
    const more = (await this.#runs.count({ where: { job } })) - KEPT_PER_JOB;
    if (more <= 0) return;
    const old = await this.#runs.list({ where: { job }, by: "at", limit: Math.min(more, PAGE) });
    await this.#store.commit(old.filter(({ value }) => value.status !== "running").map(({ key }) => remove(RUNS, key)));
  }

  /** Deletes old runs, and the state of jobs that no longer exist. */
  async sweep(jobs: ReadonlySet<string>): Promise<void> {
    const old = await this.#runs.list({ by: "at", to: this.#now() - KEPT_MS, limit: PAGE });
    const gone = (await allOf((after) => this.#streaks.list({ limit: PAGE, ...after }))).filter(({ key, value }) => !jobs.has(key) && value.owed === undefined);
    const ops = [...old.filter(({ value }) => value.status !== "running").map(({ key }) => remove(RUNS, key)), ...gone.map(({ key }) => remove(STREAKS, key))];
    if (ops.length > 0) await this.#store.commit(ops);
  }

  #lock(key: string): Lock {
    return { run: key, node: this.#node, until: this.#now() + LEASE_MS };
  }

  /** Returns the writes for a run whose owner let its lease expire. */
  async #abandoned(held: Doc<Lock> | undefined): Promise<readonly Op[]> {
    const run = held && (await this.#runs.get(held.value.run));
    if (run === undefined || run.value.status !== "running") return [];
    const error = "Its owner was not heard of for five minutes.";
    return [put(RUNS, run.key, { ...run.value, status: "interrupted", endedAt: this.#now(), error } satisfies Run, run.version)];
  }

  async #change(job: string, to: (streak: Streak) => Streak): Promise<void> {
    for (;;) {
      const found = await this.#streaks.get(job);
      try {
        await this.#streaks.put(job, to(found?.value ?? { failures: 0 }), found?.version ?? "absent");
        return;
      } catch (error) {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      }
    }
  }
}

/** The job of a run, by its key. */
export const jobOf = (key: string): string => key.slice(0, key.lastIndexOf("/"));

async function allOf<T>(page: (after: { after?: string }) => Promise<readonly Doc<T>[]>): Promise<readonly Doc<T>[]> {
  const all: Doc<T>[] = [];
  for (;;) {
    const last = all.at(-1)?.key;
    const found = await page(last === undefined ? {} : { after: last });
    all.push(...found);
    if (found.length < PAGE) return all;
  }
}

function ignoreConflict(error: unknown): void {
  if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
}
