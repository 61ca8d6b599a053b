/*
 * One message, top to bottom. Each step is a method of this file and names the errors with which the message may end there.
 *
 *   1 accept    stored with its dedup key, then acknowledged           SVC_DAEMON_DRAINING, SVC_TASK_DUPLICATE, SVC_TASK_KEY_REUSED, SVC_STORE_*
 *   2 advance   one at a time for each origin (`intake.ts`): the
 *               taps of `inbound` and `route`, or the default route    dropped, refused (SVC_AGENT_*, SVC_INTENT_REFUSED, ...)
 *   3 queue     its lane (`work.ts`): one turn a conversation,
 *               `maxConcurrent` an agent; `queueMode` when busy        dropped, deadlock
 *   4 work      context, engine, its events (`turn.ts`); display
 *               of the answer while it grows (`answer-stream.ts`)      timeout, stalled, cancelled, the engine's own
 *   5 finish    the `deliver` taps; answer and outbox in one commit;
 *               then `Turn.ended`, events, callers, and after the
 *               callbacks of `ended` the next of the lane              held (kept until released or refused), store
 *
 * A restart enters at 2 with the stored tasks (`WorkPart.recover`); no task leaves 2 before `open`.
 */
import { AsyncResource } from "node:async_hooks";
import { type Accepted, type Log, type Message, type Op, put, type Route, remove, type TaskResult } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import type { ScopedStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import type { AgentSettings, AgentTable } from "../host/agents.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import { createAbsence } from "./absence.ts";
import { createAnnouncer } from "./announce.ts";
import { type AnswerDelivery, answerOf } from "./answer-delivery.ts";
import { openAnswerStream } from "./answer-stream.ts";
import { countAttempt } from "./count-attempt.ts";
import type { Deliveries } from "./deliveries-port.ts";
import { foreseenRow, takeBackRun } from "./foresight.ts";
import { createIntake } from "./intake.ts";
import { ABSENT_MS } from "./limits.ts";
import { type AcceptOptions, createTask, markRouted, routedFirst, stopTask, type Task, tell } from "./live-task.ts";
import { LiveTasks } from "./live-tasks.ts";
import { createLoopGuard } from "./loop-guard.ts";
import type { TurnMedia } from "./media-port.ts";
import { turnOf } from "./prepare.ts";
import { mergedRow, newRecord, newTaskId, storeNew, type TaskRecord, TRACES } from "./record.ts";
import { defaultRoute, endedOutcome, errorOutcome, hindranceOf, placementOf, refusalOf } from "./routing.ts";
import { type Ending, type Outcome, REPLACED, recordFacts, resultOf, STOPPING, STOPPING_SCHEDULED } from "./run-facts.ts";
import { Slot } from "./slot.ts";
import { attemptTurn } from "./turn.ts";
import { afterReactions, TurnEnds } from "./turn-end.ts";
import { endUnstored } from "./unstored.ts";
import { createDeadlocks, tooDeep } from "./waits.ts";
import type { Claim, Work, Worker } from "./work.ts";

/** Dependencies of the pipeline. Functions are called when their answer matters, so that a reload takes effect at once. */
export interface PipelineDeps {
  readonly node: string;
  readonly store: ScopedStore;
  readonly bus: Bus;
  readonly deliveries: Deliveries;
  createWork(worker: Worker<Task>, pipeline: Pipeline): Work<Task>;
  readonly log: Log;
  readonly now: () => number;
  readonly media: TurnMedia;
  live(): Live;
  agents(): AgentTable;
  failed(scope: Scope, what: string, error: unknown): void;
}

type Batch = readonly [Task, ...Task[]];

/** Lifecycle of every message of this process. `tasks-api.ts` is its API for plugins and routes. */
export class Pipeline {
  readonly deps: PipelineDeps;
  readonly tasks = new LiveTasks();
  readonly #announce;
  readonly #tooMuch;
  readonly lanes: Work<Task>;
  readonly #deadlocks;
  readonly #intake = createIntake((task) => this.inRoot(task, () => void this.advance(task)));
  readonly absence;
  /** Async context outside of all plugins: the kernel's own work must not be attributed to the plugin that submitted the message or ended the previous turn. */
  readonly #outside = new AsyncResource("svc.flow");
  #opened = false;
  #refusing = false;
  /** Why nothing is begun any more, once the daemon is stopping: unfinished work is left for the next start. */
  closing: Ending | undefined;

  constructor(deps: PipelineDeps) {
    this.deps = deps;
    this.#announce = createAnnouncer(deps.bus, deps.log);
    this.#tooMuch = createLoopGuard({ now: deps.now });
    this.absence = createAbsence(ABSENT_MS, deps.log, () => this.refill());
    const worker = {
      start: (claim: Claim<Task>) => {
        if (!claim.batch[0].slot?.give(claim)) this.inRoot(claim.batch[0], () => void this.work(claim));
      },
      stop: stopTask,
    };
    this.lanes = deps.createWork(worker, this);
    this.lanes.pause();
    this.#deadlocks = createDeadlocks(this.tasks, this.lanes, (call, why) => this.inRoot(call, () => this.finish([call], errorOutcome(why, "deadlock"))));
  }

  // ── 1 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Store a message and set it on its way. Resolves after the commit; without a task where the dedup key was seen before. */
  async accept(given: Message, admission: AcceptOptions = {}): Promise<{ task?: Task; accepted: Accepted }> {
    const { store, bus, now, deliveries, log } = this.deps;
    if (this.#refusing) throw fail("SVC_DAEMON_DRAINING");
    const heard = deliveries.choices.heard(given);
    const message = isPromise(heard) ? await heard : heard;
    const id = newTaskId(now());
    const { rootId = bus.newRoot(), parentId } = bus.current() ?? {};
    const record = newRecord(message, { id, rootId, at: now() }, this.deps.node, admission.pinned);
    const begun = this.#opened && !this.#refusing ? foreseenRow(record, this) : undefined;
    const earlier = await storeNew(store, begun ?? record, deliveries.accepting(record.inbound));
    if (earlier !== undefined) return { accepted: { ...earlier, duplicate: true } };
    deliveries.accepted(record.inbound);
    const task = createTask(record, this.deps.live(), admission);
    if (parentId !== undefined) task.cause = parentId;
    if (begun !== undefined) task.foreseen = begun.route;
    this.tasks.add(task);
    const placed = this.#opened && this.lanes.elsewhere?.shared ? routedFirst(task) : undefined;
    tell(task, { type: "accepted", taskId: id, rootId });
    // A stop came in between: the message is stored, and so kept for the next start.
    if (this.closing !== undefined) this.#interrupted([task], this.closing.text);
    else this.#intake.enter(task);
    if (begun !== undefined && record.attempts === 0) await takeBackRun(task, store, log);
    if (placed !== undefined) await placed;
    return { task, accepted: { taskId: id, rootId, duplicate: false } };
  }

  // ── 2 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ask the taps about a message and queue it, or end it. Never rejects. */
  async advance(task: Task): Promise<void> {
    const { record, live } = task;
    const { inbound } = record;
    const agents = this.deps.agents;
    try {
      this.#announce.received(record);
      const run = { signal: task.abort.signal };
      const judged = live.hooks.inbound(inbound, run);
      const rejection = isPromise(judged) ? await judged : judged;
      if (rejection !== undefined) return await this.#drop(task, rejection.reject);
      if (inbound.choice !== undefined) return await this.#drop(task, await this.deps.deliveries.choices.unclaimed(inbound));
      // A task that another node has begun stays there, over a restart.
      const routed = record.route?.node === undefined ? live.hooks.route(inbound, run) : record.route;
      const answer = (isPromise(routed) ? await routed : routed) ?? task.foreseen ?? defaultRoute(inbound, agents());
      const route = record.pinned ?? answer;
      if (route === undefined) return await this.#drop(task, "it addresses no agent");
      const loop = this.#tooMuch(inbound, route.agent);
      if (loop !== undefined) return await this.#drop(task, loop.reject);
      Object.assign(record, { route, agent: route.agent, conversation: route.conversation });
      const refusal = refusalOf(inbound, route, agents().settings(route.agent, route.node)) ?? tooDeep(task, this.tasks);
      if (refusal !== undefined) return await this.finish([task], errorOutcome(refusal, "refused"));
      task.cause = this.#announce.matched(record).id;
      await this.queue(task, route);
    } catch (error) {
      await this.finish([task], errorOutcome(error, "refused"));
    }
  }

  // ── 3 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Enter a routed message into its lane. Resolves when a task that does not wait has ended; undefined when it runs or waits. */
  queue(task: Task, route: Route): Promise<void> | undefined {
    if (task.ending !== undefined) return this.finish([task], endedOutcome(task.ending));
    task.state = "waiting";
    const placement = placementOf(task, route, this.deps.agents, this.absence);
    const entered = task.replaces === undefined ? this.lanes.enter(task, placement) : this.lanes.replace(task, placement, task.replaces, REPLACED);
    return isPromise(entered) ? entered.then((how) => this.#entered(task, how)) : this.#entered(task, entered);
  }

  #entered(task: Task, how: "started" | "queued" | "dropped"): Promise<void> | undefined {
    markRouted(task);
    if (how === "dropped") return this.#drop(task, "the conversation is busy and its agent's queueMode is drop");
    // The task may have been claimed and finished before the result of the lane arrived.
    if (how === "started" || task.state !== "waiting") return undefined;
    task.step = "queued";
    tell(task, { type: "queued", taskId: task.record.id });
    if (this.#opened && !this.#refusing) this.#announce.queued(task.record);
    return task.record.inbound.options?.callerTask === undefined ? undefined : this.#deadlocks.end(task);
  }

  // ── 4 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Runs the turn of a claimed batch to its end and releases the lane. Never rejects. */
  async work(claim: Claim<Task>): Promise<void> {
    const { batch } = claim;
    const [lead, ...merged] = batch;
    const { record } = lead;
    const slot = new Slot(claim, this.lanes, { parked: () => this.tasks.ended(), blocked: () => void this.#deadlocks.endAll() });
    lead.slot = slot;
    try {
      for (const task of batch) task.state = "running";
      for (const task of merged) task.lead = lead;
      const settings = this.deps.agents().settings(record.agent, record.route?.node);
      const run = () => this.#run(batch, settings as AgentSettings, slot).catch((error) => this.#broken(record, error));
      await this.finish(batch, hindranceOf(lead, settings) ?? (await run()), slot);
    } finally {
      await afterReactions();
      await this.lanes.leave(slot.claim);
      this.tasks.ended();
    }
  }

  async #run(batch: Batch, settings: AgentSettings, slot: Slot<Task>): Promise<Outcome> {
    const { store, deliveries, log, failed, now } = this.deps;
    const [lead] = batch;
    const counted = countAttempt(batch, { store, signal: lead.abort.signal, log });
    this.#announce.started(lead.record);
    for (const task of batch) tell(task, { type: "started", taskId: lead.record.id, agent: lead.record.agent });
    const stream = openAnswerStream(batch, deliveries, this.#announce);
    const ends = new TurnEnds();
    Object.assign(lead, { stream, ends });
    try {
      const brought = this.deps.media(turnOf(batch, settings, ends.next(), now()), lead);
      const { turn, notice } = isPromise(brought) ? await brought : brought;
      return await attemptTurn(turn, lead.live, { settings, lead, stream, ends, counted, failed, slot, notice });
    } finally {
      await stream.close();
    }
  }

  // ── 5 ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Ends the tasks of a turn, or of none: the `deliver` taps, one commit of answer and outbox, then events and callers. */
  async finish(batch: Batch, ended: Outcome, slot?: Slot<Task>): Promise<void> {
    const { store, deliveries, now } = this.deps;
    const [lead] = batch;
    const { record, live } = lead;
    for (const task of batch) markRouted(task);
    if (ended.errorKind === "interrupted" && this.#refusing) {
      if (slot !== undefined && this.closing !== undefined) await this.lanes.release(slot.claim);
      return this.#interrupted(batch, ended.error ?? "", ended.reply);
    }
    const answered = answerOf(record, live.hooks, ended, deliveries);
    const { delivery, unjudged, outcome } = await answered.catch((error): AnswerDelivery => ({ outcome: this.#broken(record, error) }));
    Object.assign(record, { status: outcome.status, endedAt: now(), response: outcome.reply }, recordFacts(outcome));
    const ops: Op[] = batch.map((task) => put(TRACES, task.record.id, task === lead ? record : mergedRow(task.record, record)));
    let result = resultOf(record, now());
    try {
      if (delivery !== undefined) ops.push(...deliveries.ops(delivery, unjudged));
      if (slot === undefined) await store.commit(ops);
      else if ((await this.lanes.finish(slot.claim, ops)) === "fenced") return this.#interrupted(batch, "Another daemon has taken this over.");
      if (delivery !== undefined) deliveries.committed(delivery);
    } catch (error) {
      result = await endUnstored(batch, result, { ops, delivery, cause: error }, this.deps);
    }
    lead.ends?.settle(result, now());
    lead.stream?.whole(result);
    this.#announce.completed(record, result);
    for (const task of batch) this.settle(task, task === lead ? result : { ...result, taskId: task.record.id });
  }

  async #drop(task: Task, reason: string): Promise<void> {
    const { store, log, now } = this.deps;
    const { record } = task;
    markRouted(task);
    // Not stored any longer than it took to decide: only its dedup key stays.
    await store.commit([remove(TRACES, record.id)]).catch((error) => log.error({ err: error }, "a dropped message was not removed"));
    this.#announce.dropped(record, reason);
    const dropped = { ...record, status: "error" as const, error: `The message was dropped: ${reason}`, errorKind: "dropped" };
    this.settle(task, resultOf(dropped, now()));
  }

  // The records stay in flight, so that the next start resumes or reports them.
  #interrupted(batch: readonly Task[], error: string, reply = ""): void {
    for (const task of batch) {
      const result: TaskResult = { ...resultOf(task.record, this.deps.now()), reply, error, errorKind: "interrupted" };
      task.ends?.settle(result, this.deps.now());
      this.settle(task, result);
    }
  }

  #broken(record: TaskRecord, error: unknown): Outcome {
    this.deps.log.error({ task: record.id, err: error }, "a task failed in the kernel");
    return errorOutcome(error, "internal");
  }

  settle(task: Task, result: TaskResult): void {
    task.state = "settled";
    this.tasks.remove(task);
    markRouted(task);
    task.settle(result);
    task.listeners.clear();
  }

  // ── beside the way: ends from outside, restart and stop ───────────────────────────────────────────────────────────────────

  /** End a task that is not settled yet. Answers when it has ended; false when there is nothing (more) to end. */
  async end(id: string, ending: Ending): Promise<boolean> {
    const task = this.tasks.leading(id);
    if (task === undefined) return this.lanes.elsewhere?.end(id, ending) ?? false;
    if (task.ending !== undefined) return false;
    task.ending = ending;
    const found = task.state === "accepted" ? this.#intake.remove(task) && "removed" : this.lanes.cancel(task, ending);
    if ((isPromise(found) ? await found : found) === "removed") await this.inRoot(task, () => this.finish([task], endedOutcome(ending)));
    else {
      task.abort.abort(ending);
      await task.result;
    }
    return true;
  }

  /** Requeues a stored task after a restart, ahead of tasks accepted later. */
  readmit(record: TaskRecord): void {
    const task = createTask({ ...record, owner: this.deps.node }, this.deps.live(), { keep: true });
    this.tasks.add(task);
    this.#intake.enter(task);
  }

  /** Starts the readmitted and accepted tasks, in that order. Until then everything waits. */
  open(): void {
    this.#opened = true;
    this.#intake.open();
    this.refill();
  }

  /** Take and begin no new work from now on, until `admit`. */
  refuse(): void {
    this.#refusing = true;
    this.lanes.pause();
  }

  /** Take new work again. */
  admit(): void {
    this.#refusing = false;
    this.refill();
  }

  /** Starts further tasks after the agents' limits have changed. */
  refill(): void {
    if (this.#opened && !this.#refusing) this.lanes.resume();
  }

  /** Ends running and waiting tasks, to be resumed at the next start; also waits for those that are ending already. */
  async interrupt(): Promise<void> {
    this.closing = STOPPING;
    const ending = [...this.tasks.all()];
    const leads = ending.filter((task) => task.lead === undefined);
    await Promise.all(leads.map(({ record }) => this.end(record.id, record.inbound.options?.scheduled ? STOPPING_SCHEDULED : STOPPING)));
    await Promise.all(ending.map((task) => task.result));
  }

  /** Run a step of a task as the kernel's own work, under the task's root event. */
  inRoot<T>(task: Task, step: () => T): T {
    const root = { rootId: task.record.inbound.rootId, ...(task.cause === undefined ? {} : { parentId: task.cause }) };
    return this.#outside.runInAsyncScope(() => this.deps.bus.within(root, step));
  }
}
