import { codeOf, type Log, type Op, put, type RunningTask, type Store, type StoreWork, type TaskEvent } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { StateStore } from "../base/state-store.ts";
import { createTask, describeTask, markRouted, ROUTED_MS, type Task } from "../core/flow/live-task.ts";
import type { Pipeline } from "../core/flow/pipeline.ts";
import { type TaskRecord, TRACE_INDEXES, TRACES } from "../core/flow/record.ts";
import { endedOutcome } from "../core/flow/routing.ts";
import { type Ending, resultOf } from "../core/flow/run-facts.ts";
import { readRecord } from "../core/flow/traces.ts";
import type { Elsewhere } from "../core/flow/work.ts";
import { isWatched, LiveAnswers } from "./live-answers.ts";
import { closeRecords, type LastingLanes, notResumed, takenUp, unfinishedTasks, type Verdict } from "./recover.ts";

/** Dependencies of sharing tasks between daemons. */
export interface SharedTasksDeps {
  readonly pipeline: Pipeline;
  readonly store: Pick<StateStore, "nodes">;
  readonly rows: StoreWork;
  /** Adds a task that waits in a lane to the lanes. */
  know(task: Task): void;
  /** Wakes the other daemons. */
  tell(): void;
}

/** So many tasks of other daemons are shown. */
const SHOWN = 500;
/** Milliseconds after which the others have seen a new daemon. */
const SEEN_MS = 1_500;
/** Milliseconds between looks whether another daemon has ended a task. */
const LOOK_MS = 250;

/** The tasks of a state that several daemons work on, as this one sees them: those it loads for a claim, those of the others, and those that a dead one left. */
export class SharedTasks implements Elsewhere, LastingLanes {
  readonly #deps: SharedTasksDeps;
  /** Answers that grow here or elsewhere. */
  readonly live: LiveAnswers;
  readonly #core: Store;
  readonly #log: Log;
  #judge: ((record: TaskRecord, own: boolean) => Verdict) | undefined;
  /** Names of the other living daemons, and the boots whose leftovers have been checked. */
  #others: ReadonlySet<string> = new Set();
  /** The names of all nodes in the shared state. */
  #known: ReadonlySet<string> = new Set();
  #seen = false;
  #looked = new Set<number>();
  /** Of the records that this daemon took over, until they enter a lane. */
  readonly #versions = new Map<string, number>();
  #running: readonly RunningTask[] = [];
  #queued: readonly RunningTask[] = [];

  constructor(deps: SharedTasksDeps) {
    this.#deps = deps;
    this.#core = deps.pipeline.deps.store;
    this.#log = deps.pipeline.deps.log;
    this.live = new LiveAnswers({
      rows: deps.rows,
      log: this.#log,
      shared: () => this.#others.size > 0,
      task: (id) => deps.pipeline.tasks.get(id),
      tell: deps.tell,
    });
  }

  get #node(): string {
    return this.#deps.pipeline.deps.node;
  }

  get #records() {
    return this.#core.collection<TaskRecord>(TRACES, { indexes: TRACE_INDEXES });
  }

  /** Whether another daemon was alive at the last poll; true before the first one. */
  get shared(): boolean {
    return !this.#seen || this.#others.size > 0;
  }

  // ── the tasks of a claim ──────────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Returns the writes that store the record as it enters its lane, for the daemon that claims it. They fail if the record was changed since it was
   * accepted: then it no longer belongs to this daemon.
   */
  stored(task: Task): readonly Op[] {
    const { id } = task.record;
    const version = this.#versions.get(id) ?? 1;
    this.#versions.delete(id);
    return [put(TRACES, id, task.record, version)];
  }

  /** A task for a claim; with the ending of its record where it is not to run again. */
  async load(id: string, known?: Task): Promise<Task | undefined> {
    const { pipeline } = this.#deps;
    const { now } = pipeline.deps;
    const record = (await this.#records.get(id))?.value;
    if (record?.status !== "in-flight") return undefined;
    const from = record.owner ?? this.#node;
    const left = !this.#others.has(from);
    const verdict = record.attempts > 0 || (left && known === undefined) ? this.#judge?.(record, from === this.#node) : undefined;
    const silent = verdict?.resume === true && verdict.silent;
    const moved = from !== this.#node && record.attempts > 0;
    const fresh = moved
      ? takenUp(record, silent, now(), "takeover", `interrupted on node ${from} and resumed on node ${this.#node}`)
      : takenUp(record, silent, now());
    if (moved) this.#log.info({ task: id, agent: record.agent, from }, "a task of another node is taken over");
    // A task that was given up here has ended for its callers, also if its turn has not ended yet.
    let task = known ?? pipeline.tasks.get(id);
    if (task?.state === "settled" || task?.ending?.kind === "interrupted") task = undefined;
    if (task === undefined) task = this.#made(fresh);
    else Object.assign(task.record, fresh, { owner: this.#node });
    if (verdict?.resume === false) {
      this.#log.warn({ task: id, agent: record.agent }, `interrupted work is not resumed: ${verdict.reason}`);
      task.ending ??= { kind: "interrupted", text: `interrupted by a restart; not resumed because ${verdict.reason}` };
    }
    return task;
  }

  /** The session of the task's conversation is on the node `from`: its turn here starts a new one, and the trace says so. */
  moved(task: Task, from: string | undefined): void {
    delete task.movedFrom;
    if (from === undefined) return;
    const { now } = this.#deps.pipeline.deps;
    task.movedFrom = from;
    task.record.steps.push({ name: "session", kind: "prepare", at: now(), output: `moved ${from} -> ${this.#node}` });
  }

  /** Creates a task of this node that waits in its lane. */
  #made(record: TaskRecord): Task {
    const { pipeline } = this.#deps;
    const task = createTask({ ...record, owner: this.#node }, pipeline.deps.live(), { keep: true });
    task.state = "waiting";
    task.step = "queued";
    markRouted(task);
    pipeline.tasks.add(task);
    return task;
  }

  /** A task that entered here has ended elsewhere: its callers get the stored result. */
  ended(task: Task): void {
    const { pipeline } = this.#deps;
    const { record } = task;
    const settle = (stored: TaskRecord | undefined) => {
      if (task.state === "settled") return;
      const dropped = { ...record, status: "error" as const, error: "The message was dropped.", errorKind: "dropped" };
      const ended = stored?.status === "in-flight" ? { ...stored, error: "Its turn was interrupted.", errorKind: "interrupted" } : stored;
      if (stored !== undefined) Object.assign(record, stored);
      const result = resultOf(ended ?? dropped, pipeline.deps.now());
      this.live.ended(task, result);
      pipeline.settle(task, result);
    };
    readRecord(this.#records, record.id).then(settle, (error) => {
      this.#log.warn({ task: record.id, err: error }, "the end of a task was not read");
      settle(record);
    });
  }

  // ── work of other daemons ─────────────────────────────────────────────────────────────────────────────────────────────────

  running(): readonly RunningTask[] {
    return this.#running.filter(({ id }) => this.#deps.pipeline.tasks.get(id) === undefined);
  }

  queued(): readonly RunningTask[] {
    return this.#queued.filter(({ id }) => this.#deps.pipeline.tasks.get(id) === undefined);
  }

  async find(id: string): Promise<Task | undefined> {
    const { pipeline } = this.#deps;
    if (pipeline.tasks.get(id) !== undefined) return undefined;
    const found = (await this.#records.get(id))?.value;
    return found?.status === "in-flight" ? this.#shown(found) : undefined;
  }

  watch(id: string, listen: (event: TaskEvent) => void): () => void {
    return this.live.listen(id, listen);
  }

  async routed(id: string): Promise<void> {
    for (const until = performance.now() + ROUTED_MS; performance.now() < until; await new Promise((resolve) => setTimeout(resolve, LOOK_MS))) {
      const found = (await this.#records.get(id))?.value;
      if (found?.status !== "in-flight" || found.route !== undefined) return;
    }
    throw fail("SVC_TASK_UNPLACED", { task: id });
  }

  async end(id: string, ending: Ending): Promise<boolean> {
    const { pipeline, rows } = this.#deps;
    const task = await this.find(id);
    if (task === undefined) return false;
    const answer = await rows.cancel(id, ending);
    if (answer === "absent") return false;
    if (answer === "removed") {
      await pipeline.inRoot(task, () => pipeline.finish([task], endedOutcome(ending)));
      return true;
    }
    // The daemon that works on it sees the mark within a second or two.
    while ((await this.#records.get(id))?.value.status === "in-flight") await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    return true;
  }

  #shown(record: TaskRecord): Task {
    const task = createTask(record, this.#deps.pipeline.deps.live(), { keep: true });
    task.state = record.attempts > 0 ? "running" : "waiting";
    task.step = record.attempts > 0 ? "agent" : "queued";
    return task;
  }

  // ── what others left ──────────────────────────────────────────────────────────────────────────────────────────────────────

  judgeBy(judge: (record: TaskRecord, own: boolean) => Verdict): void {
    this.#judge = judge;
  }

  async own(records: readonly TaskRecord[]): Promise<readonly { readonly record: TaskRecord; readonly kept: boolean }[]> {
    const { rows } = this.#deps;
    await rows.sweep();
    await this.look();
    // Waits until the other daemons have seen this one before any message is accepted: from then on they acknowledge placements.
    if (this.shared) await new Promise((resolve) => setTimeout(resolve, SEEN_MS));
    // A record that no daemon of this state has accepted was copied here from another one.
    const own = records.filter(({ owner = this.#node }) => owner === this.#node || !this.#known.has(owner));
    const out = await this.#outOfLanes(own.map(({ id }) => id));
    const found: { record: TaskRecord; kept: boolean }[] = [];
    for (const record of own) {
      if (!out.has(record.id)) found.push({ record, kept: true });
      else if (await this.#take(record)) found.push({ record, kept: false });
    }
    return found;
  }

  keep(record: TaskRecord): void {
    this.#deps.know(this.#made(record));
  }

  async takeOut(id: string): Promise<boolean> {
    const taken: Ending = { kind: "interrupted", text: "not resumed" };
    return (await this.#deps.rows.cancel(id, taken)) === "removed";
  }

  /** Polls every second: the living daemons, their work, and the leftovers of those that died since. */
  async look(): Promise<void> {
    const { store, pipeline } = this.#deps;
    const nodes = (await store.nodes?.()) ?? [];
    const alive = new Set(nodes.filter(({ state }) => state !== "dead").map(({ name }) => name));
    const dead = nodes.filter(({ name, boot, state }) => state === "dead" && name !== this.#node && !alive.has(name) && !this.#looked.has(boot));
    this.#known = new Set(nodes.map(({ name }) => name));
    this.#others = new Set([...alive].filter((name) => name !== this.#node));
    this.#seen = true;
    if (dead.length > 0 && this.#judge !== undefined) {
      await this.#adopt(new Set(dead.map(({ name }) => name)));
      this.#looked = new Set([...nodes.filter(({ boot }) => this.#looked.has(boot)), ...dead].map(({ boot }) => boot));
    }
    if (this.#others.size === 0) {
      this.#running = [];
      this.#queued = [];
      return;
    }
    const shown = await this.#records.list({ where: { status: "in-flight" }, limit: SHOWN });
    const found = shown.map(({ value }) => value);
    this.live.watch(found.flatMap(({ id, attempts }) => (attempts > 0 ? [pipeline.tasks.get(id)].filter(isWatched) : [])));
    const theirs = found.filter(({ id }) => pipeline.tasks.get(id) === undefined);
    const running = theirs.filter(({ attempts }) => attempts > 0).map((record) => describeTask(this.#shown(record)));
    const collected = new Set(running.flatMap(({ with: others = [] }) => others));
    this.#running = running.filter(({ id }) => !collected.has(id));
    this.#queued = theirs.filter(({ attempts }) => attempts === 0).map((record) => describeTask(this.#shown(record)));
  }

  /** Restarts tasks that daemons accepted and had not brought to a lane when they died. */
  async #adopt(names: ReadonlySet<string>): Promise<void> {
    const { pipeline } = this.#deps;
    const left = (await unfinishedTasks(this.#core)).filter(({ id, owner }) => owner !== undefined && names.has(owner) && pipeline.tasks.get(id) === undefined);
    const out = await this.#outOfLanes(left.map(({ id }) => id));
    for (const record of left.filter(({ id }) => out.has(id))) {
      const verdict = this.#judge?.(record, false);
      if (!(await this.#take(record))) continue;
      this.#log.info({ task: record.id, from: record.owner }, "a message that another node had accepted is taken over");
      if (verdict?.resume === false) await closeRecords(pipeline, [record], notResumed(verdict.reason));
      else
        pipeline.readmit(
          takenUp(
            record,
            verdict?.resume === true && verdict.silent,
            pipeline.deps.now(),
            "takeover",
            `interrupted on node ${record.owner} and resumed on node ${this.#node}`,
          ),
        );
    }
  }

  async #outOfLanes(ids: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(ids.length === 0 ? [] : await this.#deps.rows.gone(ids));
  }

  /** Makes an unfinished record that no lane has this node's. False when it has ended meanwhile, or another daemon was first. */
  async #take(record: TaskRecord): Promise<boolean> {
    const found = await this.#records.get(record.id);
    if (found === undefined || found.value.status !== "in-flight" || found.value.owner !== record.owner) return false;
    try {
      await this.#core.commit([put(TRACES, record.id, { ...found.value, owner: this.#node }, found.version)]);
      this.#versions.set(record.id, found.version + 1);
      return true;
    } catch (error) {
      if (codeOf(error) === "SVC_STORE_CONFLICT") return false;
      throw error;
    }
  }
}
