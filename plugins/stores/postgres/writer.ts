import { type Log, reasonOf, type SvcError } from "@svc/sdk";
import { fail } from "./errors.ts";
import { isUndone, type ServerFailure, serverFailure, storeError } from "./server-error.ts";
import type { LateWrite, WriteSet } from "./write.ts";

/** Sets of a transaction, and operations in all of them: what the server works on for some milliseconds. */
const GROUP_SETS = 64;
const GROUP_OPS = 256;
/** After how long without the server callers are told, and how often it is tried again. */
const PATIENCE_MS = 5_000;
const LOOK_MS = 500;
const SILENT_LOOKS = 4;
const NO_ANSWER = new Error("no answer has come yet");
const RETRY_MS = [50, 100, 250, 500, 1_000] as const;

type Answer = readonly [answer: unknown] | readonly [nothing: null, index: number, name: string, key: string];

/** Sends a group of writes to the server: stored once under its number, however often it is sent. */
export type SendGroup = (number: number, sets: readonly (readonly unknown[])[], noted: boolean) => Promise<readonly Answer[]>;

/** Other work in the order of the writes: filling an index. */
interface Step {
  readonly run: () => Promise<void>;
  readonly since: number;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Job = WriteSet | Step;

/**
 * Writes in the order of the calls. Writes that arrive during a transaction form the next one.
 *
 *   write -> waiting -> group -> commit_group(number) -> resolve or reject each
 *                         |  the server is away: the same number again until it answers, so that nothing is stored twice; after 5 s the
 *                         |    callers are told that nothing is stored, and it is not sent again; where a reply was lost they wait for the answer
 *                         |  refused, or its disk is full: each set alone, and who cannot be stored is told so
 *                         '  another daemon declared this boot dead: nothing is stored any more
 */
export class Writer {
  readonly #send: SendGroup;
  readonly #database: string;
  readonly #log: Pick<Log, "warn" | "info"> | undefined;
  readonly #fenced: (error: SvcError) => void;
  readonly #silent: () => boolean;
  #waiting: Job[] = [];
  #group: readonly WriteSet[] = [];
  #number = 0;
  /** The group may be stored: it was sent, and no reply came. */
  #doubt = false;
  /** Sets that go one at a time: among them is one that the server refused. */
  #apart = 0;
  #running = false;
  #closing = false;
  #failure: SvcError | undefined;
  #away: { readonly since: number; readonly reason: string } | undefined;
  #idle: (() => void) | undefined;

  /** `fenced` is told that another daemon took over; `silent` answers whether the server was not heard of for some seconds. */
  constructor(send: SendGroup, database: string, fenced: (error: SvcError) => void, silent: () => boolean, log?: Pick<Log, "warn" | "info">) {
    this.#send = send;
    this.#database = database;
    this.#fenced = fenced;
    this.#silent = silent;
    this.#log = log;
  }

  /** Why nothing is stored at the moment. */
  get trouble(): string | undefined {
    if (this.#failure !== undefined) return this.#failure.message;
    return this.#away === undefined ? undefined : fail("SVC_STORE_UNREACHABLE", { database: this.#database, reason: this.#away.reason }).message;
  }

  /** Resolves with the answer of the last operation, after the commit. */
  write(ops: readonly LateWrite[], noted = false): Promise<unknown> {
    return this.#enter((settle) => ({ ops, noted, ...settle }));
  }

  /** Runs `run` between the writes that were handed over before it and those after it. */
  step(run: () => Promise<void>): Promise<unknown> {
    return this.#enter((settle) => ({ run, ...settle }));
  }

  /** Nothing is stored any more. */
  fail(error: SvcError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#reject(this.#group.concat(this.#waiting.splice(0) as WriteSet[]), error);
    this.#group = [];
    this.#fenced(error);
  }

  /** Resolves when all that was handed over is stored or given up. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#running) await new Promise<void>((resolve) => (this.#idle = resolve));
  }

  #enter(job: (settle: Pick<Job, "since" | "resolve" | "reject">) => Job): Promise<unknown> {
    const refusal = this.#failure ?? (this.#closing ? fail("SVC_STORE_CLOSED") : undefined);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#waiting.push(job({ since: performance.now(), resolve, reject }));
      if (this.#running) return;
      this.#running = true;
      setImmediate(() => void this.#work());
    });
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0 && this.#failure === undefined) {
      const [first] = this.#waiting;
      if (first !== undefined && "run" in first) {
        this.#waiting.shift();
        await first.run().then(first.resolve, (error) => first.reject(storeError(error, this.#database)));
      } else await this.#commit();
    }
    this.#running = false;
    this.#idle?.();
  }

  async #commit(): Promise<void> {
    this.#group = this.#next();
    this.#number += 1;
    this.#doubt = false;
    for (let attempt = 0; ; attempt += 1) {
      const group = this.#group;
      try {
        const answers = await this.#sent(group);
        this.#back();
        this.#group = [];
        for (const [at, set] of group.entries()) settle(set, answers[at]);
        return;
      } catch (error) {
        if (this.#failure !== undefined || !(await this.#recover(error, attempt))) return;
      }
    }
  }

  async #sent(group: readonly WriteSet[]): Promise<readonly Answer[]> {
    const sets = group.map(({ ops }) => ops.map((op) => (typeof op === "function" ? op() : op)));
    // Where nothing arrives any more, those behind it are not kept waiting until this connection is given up; a long write alone is no outage.
    let looks = 0;
    const watch = setInterval(() => {
      looks = this.#silent() ? looks + 1 : 0;
      // Not at the first look: this process may have been busy itself, and the answer is there already.
      if (looks < SILENT_LOOKS) return;
      this.#isAway(NO_ANSWER);
      this.#giveUp(NO_ANSWER);
    }, LOOK_MS);
    try {
      return await this.#send(
        this.#number,
        sets,
        group.every((set) => set.noted),
      );
    } finally {
      clearInterval(watch);
    }
  }

  /** False when the group is not to be tried again. */
  async #recover(error: unknown, attempt: number): Promise<boolean> {
    const failure: ServerFailure = serverFailure(error);
    if (failure === "fenced") {
      this.fail(storeError(error, this.#database) as SvcError);
      return false;
    }
    if (failure === "full" || failure === "refused") {
      const group = this.#group;
      this.#group = [];
      // The transaction was undone as a whole. Which set is to blame shows when each goes alone.
      if (group.length === 1) this.#reject(group, storeError(error, this.#database));
      else {
        this.#waiting.unshift(...group);
        this.#apart = group.length;
      }
      return false;
    }
    if (failure === "away") {
      this.#isAway(error);
      this.#doubt ||= !isUndone(error);
      if (!this.#doubt || (this.#closing && this.#group.every(isLate))) {
        this.#reject(this.#group.filter(isLate), storeError(error, this.#database));
        this.#group = this.#group.filter((set) => !isLate(set));
        if (this.#closing && this.#group.length === 0) return false;
      }
      this.#giveUp(error);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(attempt, RETRY_MS.length - 1)]));
    return this.#failure === undefined;
  }

  /** Tells who has waited too long behind the group; nothing of theirs was sent. */
  #giveUp(error: unknown): void {
    this.#reject(this.#waiting.filter(isLate), storeError(error, this.#database));
    this.#waiting = this.#waiting.filter((job) => !isLate(job));
  }

  #isAway(error: unknown): void {
    if (this.#away === undefined) this.#log?.warn({ database: this.#database, reason: reasonOf(error) }, "the database does not answer; it is tried again");
    this.#away ??= { since: performance.now(), reason: reasonOf(error) };
  }

  #back(): void {
    if (this.#away === undefined) return;
    this.#log?.info({ database: this.#database, ms: Math.round(performance.now() - this.#away.since) }, "the database answers again");
    this.#away = undefined;
  }

  /** The oldest sets that fit in a group; a longer one goes alone. */
  #next(): readonly WriteSet[] {
    let count = 0;
    let ops = 0;
    if (this.#apart > 0) {
      this.#apart -= 1;
      return this.#waiting.splice(0, 1) as WriteSet[];
    }
    for (const job of this.#waiting) {
      if ("run" in job || count === GROUP_SETS) break;
      ops += job.ops.length;
      if (count > 0 && ops > GROUP_OPS) break;
      count += 1;
    }
    return this.#waiting.splice(0, count) as WriteSet[];
  }

  #reject(jobs: readonly Job[], error: unknown): void {
    for (const job of jobs) job.reject(error);
  }
}

const isLate = ({ since }: Job): boolean => since <= performance.now() - PATIENCE_MS;

function settle(set: WriteSet, answer: Answer | undefined): void {
  if (answer === undefined || answer.length === 1) set.resolve(answer?.[0] ?? undefined);
  else set.reject(Object.assign(fail("SVC_STORE_CONFLICT", { collection: answer[2], key: answer[3] }), { index: answer[1] }));
}
