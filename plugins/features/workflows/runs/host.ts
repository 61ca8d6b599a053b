import { codeOf, type Op, type PluginContext, put } from "@svc/sdk";
import type { Definition, Entry, Input, Refusal, RunHead, RunState } from "../engine/types.ts";
import { Batch } from "./batch.ts";
import type { Effects } from "./effects.ts";
import type { KnownRun, TaskPort, TaskStep } from "./ports.ts";
import { openUntold, type UntoldBook } from "./published.ts";
import { fail } from "./run-errors.ts";
import { DEFINITIONS, ENTRIES, entryKey, isOver, RUNS, type RunRooms, type RunRow, type StepRow } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";
import { StepRows } from "./step-rows.ts";
import { childOps, factsOf, knownRun, lookAt, type RunFacts, rowOf, shelfOf, wakeOps } from "./stored-run.ts";
import { tell } from "./told.ts";
import { childKey, WAKES, type WakeRow } from "./wake-clock.ts";
import { namesFor } from "./whole-names.ts";

/** Result of an input. */
export interface Outcome {
  readonly applied: boolean;
  readonly refused?: Refusal;
  readonly row: RunRow;
}

/** A run in memory: only while something of it is under way. */
interface LiveRun {
  readonly id: string;
  stored: { readonly row: RunRow; readonly version: number; readonly definition: Definition } | undefined;
  shelf: Shelf;
  steps: StepRows;
  last: Promise<unknown>;
  jobs: number;
  /** Jobs of the next commit. */
  readonly waiting: Job[];
}

/** Work that waits for its turn. */
interface Job {
  work(batch: Batch): Promise<void>;
  resolve(row: RunRow): void;
  reject(error: unknown): void;
}

/** Initial content of a new run. */
export interface NewRun {
  readonly definition: Definition;
  readonly head: RunHead;
  readonly prior?: RunState;
  readonly name?: string;
  readonly replayOf?: string;
  /** Further writes of the same commit. */
  readonly ops?: readonly Op[];
}

/** The part of the context that runs use. */
export type RunsContext = Pick<PluginContext, "actions" | "env" | "events" | "jobs" | "log" | "signal" | "store" | "tasks">;

/** Parts that the host notifies once a commit is stored. */
export interface HostParts {
  readonly ctx: RunsContext;
  readonly rooms: RunRooms;
  readonly boot: string;
  readonly tasks: TaskPort;
  /** Whether this daemon may begin something new. */
  claims(): boolean;
  arm(due: number): void;
  ended(row: RunRow): void;
}

/** So often a commit is decided anew because another writer was first. */
const TRIES = 20;
const DEFINITIONS_KEPT = 100;
/** Milliseconds after which what could not be stored is tried again. */
const AGAIN_MS = 5_000;

/**
 * The only entry for inputs of a run: one after the other for each run, decided on the stored state, with one commit for each and its consequences.
 * On a conflict with another writer, it is read and decided again.
 */
export class Host {
  readonly untold: UntoldBook;
  readonly #parts: HostParts;
  readonly #live = new Map<string, LiveRun>();
  readonly #definitions = new Map<string, Definition>();
  #effects: Effects | undefined;

  constructor(parts: HostParts) {
    this.#parts = parts;
    this.untold = openUntold(parts.ctx);
  }

  /** Receives the effects. */
  set effects(effects: Effects) {
    this.#effects = effects;
  }

  /** Runs of which something is in memory. */
  get inMemory(): number {
    return this.#live.size;
  }

  /** One input. `make` sees the run as it is when its turn has come, and may answer that nothing is to be done. */
  async input(runId: string, input: Input | ((batch: Batch) => Input | undefined | Promise<Input | undefined>)): Promise<Outcome> {
    return this.act(runId, async (batch) => {
      const made = typeof input === "function" ? await input(batch) : input;
      if (made === undefined) return { applied: false };
      const { entries, refused } = batch.feed(made);
      return { applied: entries.length > 0, ...(refused === undefined ? {} : { refused }) };
    });
  }

  /**
   * Runs a job on a run in its turn: the inputs of the batch, and their consequences, are stored when it resolves. Jobs that arrive during a commit
   * run one after the other and are stored together.
   */
  async act<T extends object>(runId: string, work: (batch: Batch) => Promise<T>): Promise<T & { readonly row: RunRow }> {
    const live = this.#live.get(runId) ?? this.#enter(runId);
    let value: T | undefined;
    const row = await new Promise<RunRow>((resolve, reject) => {
      const job = async (batch: Batch) => {
        value = await work(batch);
      };
      if (live.waiting.push({ work: job, resolve, reject }) === 1) void this.#inTurn(runId, (own) => this.#together(own)).catch(() => {});
    });
    return { ...(value as T), row };
  }

  /** All that waits for its turn, in one commit. What throws is not part of it. */
  async #together(live: LiveRun): Promise<void> {
    let jobs = live.waiting.splice(0);
    try {
      for (let tried = 0; tried < TRIES; tried += 1) {
        const { row, definition } = await this.#load(live);
        const batch = this.#batch(live, definition, row.state);
        const failed = await firstFailure(jobs, batch);
        if (failed !== undefined) {
          // Its inputs so far are discarded with it.
          failed.job.reject(failed.error);
          jobs = jobs.filter((job) => job !== failed.job);
          if (jobs.length === 0) return;
          tried -= 1;
          continue;
        }
        try {
          const unchanged = batch.entries.length === 0 && lookAt(row.state) === row.wake;
          const stored = unchanged ? row : await this.#commit(live, batch, row, []);
          for (const { resolve } of jobs) resolve(stored);
          return;
        } catch (error) {
          live.stored = undefined;
          if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
        }
      }
      throw fail("SVC_WORKFLOW_CONTENDED", { id: live.id });
    } catch (error) {
      for (const { reject } of jobs) reject(error);
    }
  }

  /** Continues the ready steps. */
  async takeUp(runId: string): Promise<RunRow> {
    const { row } = await this.act(runId, async (batch) => {
      await batch.takeUp();
      return {};
    });
    return row;
  }

  /** Goes on in a turn of its own: on a full disk as soon as there is room. */
  #goOn(runId: string): void {
    this.takeUp(runId).catch((error) => {
      if (codeOf(error) !== "SVC_WORKFLOW_RUN_UNKNOWN" && !this.#parts.ctx.signal.aborted) this.#parts.ctx.jobs.after(AGAIN_MS, () => this.#goOn(runId));
    });
  }

  /** Stores a new run and what it does at once. Throws `SVC_STORE_CONFLICT` where one of `ops` does not hold. */
  async create({ definition, head, prior, ops = [], ...facts }: NewRun): Promise<RunRow> {
    return this.#inTurn(head.id, async (live) => {
      const batch = this.#batch(live, definition, undefined);
      const input = live.shelf.put(head.input, false);
      // Its large values are rows of the run before it, which is not kept for this one.
      const adopted = prior === undefined ? {} : { prior: (await live.shelf.adopt(prior)) as RunState };
      batch.feed({ kind: "start", at: Date.now(), run: { ...head, input }, ...adopted });
      await batch.settle();
      this.#definitions.set(head.hash, definition);
      return this.#commit(live, batch, undefined, [put(DEFINITIONS, head.hash, definition), ...ops], facts);
    });
  }

  /** A value of a run's state or journal with its large parts in place. */
  async whole(runId: string, row: Pick<RunRow, "chars" | "shelved">, value: unknown): Promise<unknown> {
    return (this.#live.get(runId)?.shelf ?? new Shelf(runId, this.#parts.rooms.values, row)).whole(value);
  }

  /** The run as it is stored. */
  async load(runId: string): Promise<RunRow | undefined> {
    return (await this.#parts.rooms.runs.get(runId))?.value;
  }

  /** Returns the names that the expressions of a live step can read. Throws for any other step. */
  async names(runId: string, step: string): Promise<Readonly<Record<string, unknown>>> {
    const row = await this.load(runId);
    const live = row?.state.steps[step];
    if (row === undefined || live === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id: runId });
    return namesFor({ state: row.state, step: live, shelf: new Shelf(runId, this.#parts.rooms.values, row) });
  }

  /** The definition that runs of this hash execute. */
  async definition(hash: string): Promise<Definition> {
    const known = this.#definitions.get(hash) ?? (await this.#parts.rooms.definitions.get(hash))?.value;
    if (known === undefined) throw new Error(`the definition ${hash} of a run is not stored`);
    this.#definitions.delete(hash);
    this.#definitions.set(hash, known);
    if (this.#definitions.size > DEFINITIONS_KEPT) this.#definitions.delete(this.#definitions.keys().next().value as string);
    return known;
  }

  /** Returns the input of a step from its claim, stored in its row. */
  async given(runId: string, row: RunRow, step: string): Promise<unknown> {
    const stored = await (this.#live.get(runId)?.steps ?? new StepRows(runId, this.#parts.rooms.steps)).get(step);
    return this.whole(runId, row, stored?.input);
  }

  /** Waits for commits in progress. */
  async stop(): Promise<void> {
    await Promise.all([...this.#live.values()].map(({ last }) => last));
    await this.untold.stop();
  }

  #batch(live: LiveRun, definition: Definition, state: RunState | undefined): Batch {
    return new Batch({ definition, state, shelf: live.shelf, boot: this.#parts.boot, claims: this.#parts.claims() });
  }

  async #inTurn<T>(runId: string, work: (live: LiveRun) => Promise<T>): Promise<T> {
    const live = this.#live.get(runId) ?? this.#enter(runId);
    live.jobs += 1;
    const result = live.last.then(() => work(live));
    live.last = result.catch(() => {});
    try {
      return await result;
    } finally {
      live.jobs -= 1;
      this.forget(runId);
    }
  }

  #enter(id: string): LiveRun {
    const { values, steps } = this.#parts.rooms;
    const live: LiveRun = {
      id,
      stored: undefined,
      shelf: new Shelf(id, values, { chars: 0, shelved: 0 }),
      steps: new StepRows(id, steps),
      last: Promise.resolve(),
      jobs: 0,
      waiting: [],
    };
    this.#live.set(id, live);
    return live;
  }

  /** A run that only waits is not kept in memory. */
  forget(runId: string): void {
    const live = this.#live.get(runId);
    if (live !== undefined && live.jobs === 0 && !this.#effects?.has(runId)) this.#live.delete(runId);
  }

  async #load(live: LiveRun): Promise<{ readonly row: RunRow; readonly definition: Definition }> {
    if (live.stored !== undefined) return live.stored;
    const found = await this.#parts.rooms.runs.get(live.id);
    if (found === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id: live.id });
    const definition = await this.definition(found.value.hash);
    live.stored = { row: found.value, version: found.version, definition };
    live.shelf = new Shelf(live.id, this.#parts.rooms.values, found.value);
    live.steps = new StepRows(live.id, this.#parts.rooms.steps);
    return live.stored;
  }

  async #commit(live: LiveRun, batch: Batch, before: RunRow | undefined, more: readonly Op[], facts: RunFacts = {}): Promise<RunRow> {
    const { ctx, tasks, claims, arm, ended } = this.#parts;
    const { state, entries, shelf, definition } = batch;
    const due = batch.unfinished && !claims() ? Date.now() : lookAt(state);
    const row = rowOf(state, { ...shelfOf(shelf), ...factsOf(before ?? facts, entries) }, due);
    const steps = await live.steps.after(entries);
    const known = knownRun(state, definition);
    const taskRows = await this.#taskRows(live, batch, known, steps.rows);
    const version = live.stored?.version;
    const children = childOps(live.id, batch.after);
    await ctx.store.commit([
      put(RUNS, live.id, row, version ?? "absent"),
      ...entries.map((entry) => put(ENTRIES, entryKey(live.id, entry.seq), entry)),
      ...steps.ops,
      ...shelf.ops(),
      ...wakeOps(live.id, before?.wake, due),
      // The parent is told of the end by a row of its own, so that no stop comes in between.
      ...(isOver(row.status) && state.parentRunId !== undefined && !isOver(before?.status ?? "running")
        ? [put(WAKES, childKey(state.parentRunId, live.id), { due: Date.now() } satisfies WakeRow)]
        : []),
      ...taskRows,
      ...children,
      ...this.untold.rows(live.id, before?.state.seq ?? 0),
      ...more,
    ]);
    live.stored = { row, version: (version ?? 0) + 1, definition };
    shelf.stored();
    live.steps.keep(steps.rows);
    this.untold.written(live.id);
    this.tell(live.id, row, definition, entries, before?.status ?? "running");
    tasks.committed(known, entries);
    if (due !== undefined || children.length > 0) arm(children.length > 0 ? Date.now() : (due as number));
    this.#effects?.follow(live.id, row, batch, definition);
    if (batch.unfinished && claims()) this.#goOn(live.id);
    if (isOver(row.status)) ended(row);
    return row;
  }

  /** Tells the bus of entries that are stored. */
  tell(runId: string, { state }: RunRow, definition: Definition, entries: readonly Entry[], before: string): void {
    const kinds = new Map<string, string>(definition.nodes.map(({ id, kind }) => [id, kind]));
    const { workflow, rootId, parentRunId } = state;
    const run = { id: runId, workflow, rootId, kindOf: (node: string) => kinds.get(node), ...(parentRunId === undefined ? {} : { parentRunId }) };
    tell(this.#parts.ctx, run, entries, before);
    this.untold.told(runId);
  }

  async #taskRows(live: LiveRun, batch: Batch, known: KnownRun, rows: ReadonlyMap<string, StepRow>): Promise<readonly Op[]> {
    const about = batch.entries.filter(({ kind }) => kind.startsWith("task."));
    if (about.length === 0) return [];
    const facts = new Map<string, TaskStep>();
    for (const entry of about) {
      const { step } = entry as { readonly step: string };
      const row = rows.get(step) ?? (await live.steps.get(step));
      if (row === undefined) continue;
      const input = await batch.shelf.whole(row.input);
      facts.set(step, { node: batch.node(row.node), key: `${live.id}/${step}`, row: { ...row, input } });
    }
    return this.#parts.tasks.rows(known, batch.entries, (step) => facts.get(step));
  }
}

/** Does the works one after the other, as far as none throws. */
async function firstFailure(jobs: readonly Job[], batch: Batch): Promise<{ readonly job: Job; readonly error: unknown } | undefined> {
  for (const job of jobs) {
    try {
      await job.work(batch);
      await batch.settle();
    } catch (error) {
      return { job, error };
    }
  }
  return undefined;
}
