/*
 * One message, top to bottom. Each step names the errors with which it may end there.
 *
 *   1 accept    stored with its dedup key, then acknowledged           SVC_DAEMON_DRAINING, SVC_TASK_DUPLICATE, SVC_STORE_*
 *   2 intake    one at a time for each origin (`intake.ts`); the
 *               taps of `inbound` and `route`, or the default route    dropped, refused (SVC_AGENT_*, SVC_INTENT_REFUSED, ...)
 *   3 lane      one turn a conversation, `maxConcurrent` an agent;
 *               `queueMode` decides about what waits (`lanes.ts`)      dropped
 *   4 run       context, engine, its events (`turn.ts`)                timeout, stalled, cancelled, the engine's own
 *   5 finish    the `deliver` taps; answer and outbox in one commit;
 *               then events, callers and the next of the lane          held, store
 *
 * A restart enters at 2 with what is stored (`recover.ts`); nothing leaves 2 before `open`.
 */
import { AsyncResource } from "node:async_hooks";
import { type Accepted, type Inbound, type Log, type Message, type Op, put, type Route, remove, type TaskEvent, type TaskResult, type Turn } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { isPromise } from "../../base/promise.ts";
import type { ScopedStore } from "../boot/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import { callableBy } from "../host/agent-abilities.ts";
import type { AgentSettings, AgentTable } from "../host/agents.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import { createAbsence } from "./absence.ts";
import { createAnnouncer } from "./announce.ts";
import type { Deliveries } from "./deliver/deliveries-port.ts";
import { createLoopGuard } from "./deliver/loop-guard.ts";
import { brokenOutcome, createFinish, interruptedResult } from "./finish.ts";
import { createIntake } from "./intake.ts";
import { createLanes } from "./lanes.ts";
import { ABSENT_MS, COLLECT_CHARACTERS, COLLECT_MESSAGES } from "./limits.ts";
import { createTask, place, type Task, tell } from "./live-task.ts";
import type { Ending, Outcome } from "./outcome.ts";
import { newTaskId, type TaskRecord, TRACES } from "./record.ts";
import { defaultRoute, endedOutcome, errorOutcome, refusalOf, runSecondsOf } from "./routing.ts";
import { type Admission, openDoors, type Pipeline } from "./tasks-api.ts";
import { readRecord } from "./traces.ts";
import { attemptTurn } from "./turn.ts";
import { deadlock, tooDeep } from "./waits.ts";

/** What the pipeline stands on. Functions are asked when their answer matters, so that a reload counts at once. */
export interface PipelineDeps {
  readonly store: ScopedStore;
  readonly bus: Bus;
  readonly deliveries: Deliveries;
  readonly log: Log;
  readonly now: () => number;
  live(): Live;
  agents(): AgentTable;
  failed(scope: Scope, what: string, error: unknown): void;
}

const DEDUP = "dedup";
/** Long enough for an engine's own SIGTERM, 3 s, SIGKILL. */
const GRACE_MS = 5_000;

export function createPipeline(deps: PipelineDeps): Pipeline {
  const { store, bus, deliveries, log, now } = deps;
  const announce = createAnnouncer(bus, log);
  const tooMuch = createLoopGuard({ now });
  const tasks = new Map<string, Task>();
  const lanes = createLanes<Task>((batch, conversation) => inRoot(batch[0], () => void work(batch, conversation)), {
    items: COLLECT_MESSAGES,
    size: COLLECT_CHARACTERS,
  });
  const intake = createIntake((task) => inRoot(task, () => void advance(task)));
  const absence = createAbsence(ABSENT_MS, log, () => refill());
  lanes.pause();
  let opened = false;
  let refusing = false;
  /** Why nothing is begun any more, once that is so. */
  let closing: Ending | undefined;
  const whenIdle: (() => void)[] = [];

  const finish = createFinish({ store, deliveries, log, now, announce, settle, stopping: () => refusing });

  /** The kernel's own work is no plugin's, whoever handed the message over or ended the turn before. */
  const outside = new AsyncResource("svc.flow");

  const inRoot = <T>(task: Task, step: () => T): T => {
    const root = { rootId: task.record.inbound.rootId, ...(task.cause === undefined ? {} : { parentId: task.cause }) };
    return outside.runInAsyncScope(() => bus.within(root, step));
  };

  // ── 1. accept ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async function accept(message: Message, admission: Admission = {}): Promise<{ task?: Task; accepted: Accepted }> {
    if (refusing) throw fail("SVC_DAEMON_DRAINING");
    const id = newTaskId(now());
    const rootId = bus.current()?.rootId ?? bus.newRoot();
    const inbound: Inbound = { ...message, id, rootId, at: now(), attempts: 0 };
    const record: TaskRecord = {
      id,
      inbound,
      status: "in-flight",
      agent: message.agent ?? "",
      conversation: "",
      attempts: 0,
      startedAt: inbound.at,
      steps: [],
    };
    if (admission.pinned !== undefined) record.pinned = admission.pinned;
    const { dedupKey } = message;
    const ops: Op[] = [put(TRACES, id, record, "absent")];
    if (dedupKey !== undefined) ops.unshift(put(DEDUP, dedupKey, { taskId: id, rootId, at: inbound.at }, "absent"));
    try {
      await store.commit(ops);
    } catch (error) {
      if (dedupKey === undefined || (error as { code?: string }).code !== "SVC_STORE_CONFLICT") throw error;
      const earlier = (await store.collection<{ taskId: string; rootId: string }>(DEDUP).get(dedupKey))?.value;
      if (earlier === undefined) throw error;
      return { accepted: { ...earlier, duplicate: true } };
    }
    const task = createTask(record, deps.live(), admission);
    if (admission.listen !== undefined) task.listeners.add(admission.listen);
    tasks.set(id, task);
    tell(task, { type: "accepted", taskId: id, rootId });
    // Stored, and so kept for the next start: a stop came in between.
    if (closing !== undefined) settle(task, interruptedResult(task, closing, now()));
    else intake.enter(task);
    return { task, accepted: { taskId: id, rootId, duplicate: false } };
  }

  // ── 2. inbound, route, admit ──────────────────────────────────────────────────────────────────────────────────────────────

  async function advance(task: Task): Promise<void> {
    const { record, live } = task;
    const { inbound } = record;
    try {
      announce.received(record);
      const run = { signal: task.abort.signal };
      const judged = live.hooks.inbound(inbound, run);
      const rejection = isPromise(judged) ? await judged : judged;
      if (rejection !== undefined) return await drop(task, rejection.reject);
      const routed = live.hooks.route(inbound, run);
      const answer = (isPromise(routed) ? await routed : routed) ?? defaultRoute(inbound, deps.agents());
      const route = record.pinned === undefined ? answer : { ...answer, ...record.pinned };
      if (route === undefined) return await drop(task, "it addresses no agent");
      const loop = tooMuch(inbound, route.agent);
      if (loop !== undefined) return await drop(task, loop.reject);
      record.route = route;
      record.agent = route.agent;
      record.conversation = route.conversation;
      const settings = deps.agents().settings(route.agent);
      const refusal = settings === undefined ? fail("SVC_AGENT_UNKNOWN", { agent: route.agent }) : (refusalOf(inbound, settings) ?? tooDeep(task, tasks));
      if (refusal !== undefined) return await finish([task], errorOutcome(refusal, "refused"));
      task.cause = announce.matched(record).id;
      const left = queue(task, route);
      if (left !== undefined) await left;
    } catch (error) {
      await finish([task], errorOutcome(error, "refused"));
    }
  }

  // ── 3. lane ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Resolves when a task that does not wait has ended; undefined when it runs or waits. */
  function queue(task: Task, route: Route): Promise<void> | undefined {
    if (task.ending !== undefined) return finish([task], endedOutcome(task.ending));
    const settings = () => deps.agents().settings(route.agent);
    task.state = "waiting";
    const entered = lanes.enter(task, {
      conversation: route.conversation,
      agent: route.agent,
      mode: () => settings()?.queueMode ?? "collect",
      limit: () => slotsOf(route.agent),
      sort: () => sortOf(task.record, route),
      size: task.record.inbound.text.length,
      front: task.front,
      keep: task.keep,
    });
    place(task);
    if (entered === "dropped") return drop(task, "the conversation is busy and its agent's queueMode is drop");
    if (entered === "held") {
      const forEver = task.record.inbound.options?.callerTask === undefined ? undefined : deadlock(task, tasks, lanes);
      if (forEver !== undefined && lanes.remove(task)) return finish([task], errorOutcome(forEver, "deadlock"));
      task.step = "queued";
      tell(task, { type: "queued", taskId: task.record.id });
    }
    return undefined;
  }

  function slotsOf(agent: string): number {
    const settings = deps.agents().settings(agent);
    if (settings === undefined) return absence.slots(agent);
    absence.back(agent);
    return settings.maxConcurrent;
  }

  // ── 4. assemble, dispatch, run ────────────────────────────────────────────────────────────────────────────────────────────

  async function work(batch: readonly [Task, ...Task[]], conversation: string): Promise<void> {
    const [lead, ...merged] = batch;
    const { record } = lead;
    try {
      for (const task of batch) task.state = "running";
      for (const task of merged) task.lead = lead;
      const settings = deps.agents().settings(record.agent);
      if (settings === undefined) await finish(batch, errorOutcome(fail("SVC_AGENT_UNKNOWN", { agent: record.agent }), "refused"));
      else await finish(batch, await run(batch, settings).catch((error) => brokenOutcome(record, error, log)));
    } finally {
      lanes.release(conversation);
      if (whenIdle.length > 0 && ![...tasks.values()].some((task) => task.state === "running")) for (const resolve of whenIdle.splice(0)) resolve();
    }
  }

  async function run(batch: readonly [Task, ...Task[]], settings: AgentSettings): Promise<Outcome> {
    const [lead] = batch;
    const { record, live } = lead;
    const startedAt = now();
    const everyone = (event: TaskEvent) => {
      for (const task of batch) tell(task, event);
    };
    for (const task of batch) task.record.attempts += 1;
    if (batch.length > 1) record.tasks = batch.map((task) => task.record.id);
    else delete record.tasks;
    // Waited for when the engine is about to start, and so seldom waited for: the context was assembled meanwhile.
    const counted = store
      .note(batch.map((task) => put(TRACES, task.record.id, { ...task.record, steps: [] })))
      .catch((error) => log.error({ err: error }, "the start of a task was not stored"));
    announce.started(record);
    everyone({ type: "started", taskId: record.id, agent: record.agent });

    const reply = live.hooks.holdsStream || record.route === undefined ? undefined : deliveries.open(record.route.reply, record.id, record.agent);
    const control = {
      abort: lead.abort,
      signal: lead.abort.signal,
      prepareSeconds: settings.preSpawnTimeoutSec,
      runSeconds: runSecondsOf(record.inbound, settings),
      graceMs: GRACE_MS,
      toolUseRequired: settings.toolUseRequired,
      steps: record.steps,
      counted,
      failed: deps.failed,
      step: (name: string) => {
        lead.step = name;
      },
      event: (event: Exclude<TaskEvent, { type: "accepted" | "queued" | "started" }>) => {
        if (event.type === "text" && live.hooks.holdsStream) return;
        if (event.type === "text") reply?.text(event.text);
        if (event.type === "step") announce.step(record, event.step);
        everyone(event);
      },
    };

    const turn: Turn = {
      id: record.id,
      agent: settings.agent,
      route: record.route as Route,
      messages: batch.map((task) => task.record.inbound) as [Inbound, ...Inbound[]],
      strategy: record.inbound.options?.contextStrategy ?? settings.contextStrategy,
      nativeSessions: live.tiers.get(settings.agent.tier)?.thing.nativeSessions === true,
      actions: callableBy(settings.agent, live),
      rootId: record.inbound.rootId,
      attempt: 1,
      startedAt,
    };
    try {
      return await attemptTurn(turn, live, control);
    } finally {
      await reply?.end();
    }
  }

  // ── 5. finish (`finish.ts`), or none ──────────────────────────────────────────────────────────────────────────────────────

  async function drop(task: Task, reason: string): Promise<void> {
    const { record } = task;
    place(task);
    // Not stored any longer than it took to decide: only its dedup key stays.
    await store.commit([remove(TRACES, record.id)]).catch((error) => log.error({ err: error }, "a dropped message was not removed"));
    announce.dropped(record, reason);
    settle(task, {
      ok: false,
      taskId: record.id,
      agent: record.agent,
      reply: "",
      status: "error",
      error: `The message was dropped: ${reason}`,
      errorKind: "dropped",
      durationMs: now() - record.startedAt,
    });
  }

  function settle(task: Task, result: TaskResult): void {
    task.state = "settled";
    tasks.delete(task.record.id);
    place(task);
    task.settle(result);
    task.listeners.clear();
  }

  return openDoors({
    tasks,
    intake,
    lanes,
    deliveries,
    record: (id) => readRecord(store.collection<TaskRecord>(TRACES), id),
    now,
    accept,
    finish,
    live: deps.live,
    agents: deps.agents,
    inRoot,
    whenIdle,
    open,
    refuse,
    admit,
    close,
    refill,
  });

  function open(): void {
    opened = true;
    intake.open();
    if (!refusing) lanes.resume();
  }

  function refuse(): void {
    refusing = true;
    lanes.pause();
  }

  function admit(): void {
    refusing = false;
    refill();
  }

  function refill(): void {
    if (opened && !refusing) lanes.resume();
  }

  function close(ending: Ending): void {
    closing = ending;
  }
}

/**
 * Messages become one turn only where its answer reaches all of them, and where they ask the same of it. What a restart interrupted is
 * taken up as it was: a turn that brought the daemon down costs no further message a try.
 */
function sortOf({ inbound: { options }, attempts }: TaskRecord, { reply: { channel, chat, account, thread } }: Route): string {
  return JSON.stringify([channel, chat, account, thread, options, attempts]);
}
