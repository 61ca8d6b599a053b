/*
 * The life of one message, top to bottom. Each step names what may end the message there, and who hears of it.
 *
 *   entry (HTTP, channel, cron, plugin ...)
 *     │  accept      commit: record + dedup key        ── seen before ─────► the earlier task's id; nothing runs twice
 *     │                                                ── store refuses ───► the entry's error; nothing was acknowledged
 *     ▼  the entry acknowledges its platform
 *   advance
 *     │  inbound     hook, first rejection wins        ── rejected ────────► message:dropped
 *     │  route       hook, else agent or mention       ── nobody meant ────► message:dropped
 *     │  admit       intents, delegation depth         ── refused ─────────► finish with an error
 *     ▼  message:matched
 *   lane             one turn a conversation,          ── queueMode drop ──► message:dropped
 *     │              maxConcurrent an agent            ── cancel ──────────► finish as cancelled
 *     ▼  task:started
 *   work
 *     │  assemble    hook, a limit for each tap        ── stalled ─────────► once more from the start, then finish as timeout
 *     │  dispatch    hook, else the agent's tier       ── no such tier ────► finish with an error
 *     │  run         text and steps go out as they come── limit, cancel ───► the engine is stopped, finish
 *     ▼
 *   finish
 *     │  deliver     hook, may rewrite or hold         ── held ────────────► recorded, not sent
 *     │  commit      trace + outbox in one transaction ── store fails ─────► told to the caller; runs again after a restart
 *     ▼  task:completed, the caller's result, the outbox sends
 */
import { randomUUID } from "node:crypto";
import { type Accepted, type Delivery, type Inbound, type Log, type Message, type Op, put, type Route, remove, type Store, type TaskEvent, type TaskResult, type Turn } from "@svc/sdk";
import type { AgentSettings, AgentTable } from "../agents.ts";
import type { Bus } from "../bus/bus.ts";
import { fail } from "../errors.ts";
import { reasonOf } from "../host/hooks.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { KernelTasks } from "../port.ts";
import type { Deliveries } from "./deliver/port.ts";
import { createLanes } from "./lanes.ts";
import { newTaskId, type TaskRecord, TRACES } from "./record.ts";
import { baseContext, defaultRoute, endedOutcome, errorOutcome, factsOf, refOf, refusalOf } from "./routing.ts";
import { createTask, describeTask, resultOf, type Task, tell } from "./task.ts";
import { type Ending, type Outcome, prepareTurn, runTurn, STALLED } from "./turn.ts";
import { failureText } from "./words.ts";

/** What the pipeline stands on. Functions are asked when their answer matters, so that a reload counts at once. */
export interface PipelineGround {
  readonly store: Store;
  readonly bus: Bus;
  readonly deliveries: Deliveries;
  readonly log: Log;
  readonly now: () => number;
  live(): Live;
  agents(): AgentTable;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** The pipeline: `KernelTasks` for the entries, and what boot and shutdown need. */
export interface Pipeline extends KernelTasks {
  /** Put a stored task back to work after a restart. */
  readmit(record: TaskRecord): void;
  /** End a stored task without running it, and tell its sender. */
  close(record: TaskRecord, outcome: Outcome): Promise<void>;
  /** Take no new work from now on. */
  refuse(): void;
  /** Resolves when no turn runs. */
  idle(): Promise<void>;
  /** End what still runs, to be resumed at the next start. */
  interrupt(): Promise<void>;
  /** The task whose turn runs, for adding a step to its trace. */
  find(id: string): TaskRecord | undefined;
}

interface Admission {
  readonly pinned?: Route;
  readonly front?: boolean;
  readonly keep?: boolean;
  readonly listen?: (event: TaskEvent) => void;
}

const DEDUP = "dedup";
/** Long enough for an engine's own SIGTERM, 3 s, SIGKILL. */
const GRACE_MS = 5_000;

export function createPipeline(ground: PipelineGround): Pipeline {
  const { store, bus, deliveries, log, now } = ground;
  const tasks = new Map<string, Task>();
  const lanes = createLanes<Task>((batch, conversation) => inRoot(batch[0], () => void work(batch, conversation)));
  let refusing = false;
  let whenIdle: (() => void)[] = [];

  const inRoot = <T>(task: Task, step: () => T): T => bus.within({ rootId: task.record.inbound.rootId, ...(task.cause === undefined ? {} : { parentId: task.cause }) }, step);

  // ── 1. accept ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async function accept(message: Message, admission: Admission = {}): Promise<{ task?: Task; accepted: Accepted }> {
    if (refusing) throw fail("SVC_DAEMON_DRAINING");
    const id = newTaskId(now());
    const rootId = bus.current()?.rootId ?? bus.newRoot();
    const inbound: Inbound = { ...message, id, rootId, at: now(), attempts: 0 };
    const record: TaskRecord = { id, inbound, status: "in-flight", agent: message.agent ?? "", conversation: "", attempts: 0, startedAt: inbound.at, steps: [] };
    if (admission.pinned !== undefined) record.pinned = admission.pinned;
    const { dedupKey } = message;
    const ops: Op[] = [put(TRACES, id, { ...record, steps: [] }, "absent")];
    if (dedupKey !== undefined) ops.unshift(put(DEDUP, dedupKey, { taskId: id, rootId, at: inbound.at }, "absent"));
    try {
      await store.commit(ops);
    } catch (error) {
      if (dedupKey === undefined || (error as { code?: string }).code !== "SVC_STORE_CONFLICT") throw error;
      const earlier = (await store.collection<{ taskId: string; rootId: string }>(DEDUP).get(dedupKey))?.value;
      if (earlier === undefined) throw error;
      return { accepted: { ...earlier, duplicate: true } };
    }
    const task = createTask(record, ground.live(), admission);
    if (admission.listen !== undefined) task.listeners.add(admission.listen);
    tasks.set(id, task);
    tell(task, { type: "accepted", taskId: id, rootId });
    inRoot(task, () => void advance(task));
    return { task, accepted: { taskId: id, rootId, duplicate: false } };
  }

  // ── 2. inbound, route, admit ──────────────────────────────────────────────────────────────────────────────────────────────

  async function advance(task: Task): Promise<void> {
    const { record, live } = task;
    const { inbound } = record;
    try {
      if (inbound.entry === "channel") bus.publish({ kind: "channel", type: "in", summary: `message on ${inbound.channel}`, ...refOf(inbound), data: { channel: inbound.channel } });
      const rejection = await live.hooks.inbound(inbound, { signal: task.abort.signal });
      if (rejection !== undefined) return await drop(task, rejection.reject);
      const answer = (await live.hooks.route(inbound, { signal: task.abort.signal })) ?? defaultRoute(inbound, ground.agents());
      const route = record.pinned === undefined ? answer : { ...answer, ...record.pinned };
      if (route === undefined) return await drop(task, "it addresses no agent");
      record.route = route;
      record.agent = route.agent;
      record.conversation = route.conversation;
      const settings = ground.agents().settings(route.agent);
      const refusal = settings === undefined ? fail("SVC_AGENT_UNKNOWN", { agent: route.agent }) : refusalOf(inbound, settings);
      if (refusal !== undefined) return await finish([task], errorOutcome(refusal, "refused"));
      const matched = bus.publish({ kind: "message", type: "message:matched", agentId: route.agent, summary: `${inbound.channel} message for ${route.agent}`, ...refOf(inbound), data: { channel: inbound.channel, entry: inbound.entry } });
      task.cause = matched.id;
      await queue(task, route);
    } catch (error) {
      await finish([task], errorOutcome(error, "refused"));
    }
  }

  // ── 3. lane ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async function queue(task: Task, route: Route): Promise<void> {
    if (task.ending !== undefined) return finish([task], endedOutcome(task.ending));
    const settings = () => ground.agents().settings(route.agent);
    task.state = "waiting";
    const entered = lanes.enter(task, {
      conversation: route.conversation,
      agent: route.agent,
      mode: () => settings()?.queueMode ?? "collect",
      limit: () => settings()?.maxConcurrent ?? 1,
      front: task.front,
      keep: task.keep,
    });
    task.placed.resolve();
    if (entered === "dropped") return drop(task, "the conversation is busy and its agent's queueMode is drop");
    if (entered === "held") {
      task.step = "queued";
      tell(task, { type: "queued", taskId: task.record.id });
    }
  }

  // ── 4. assemble, dispatch, run ────────────────────────────────────────────────────────────────────────────────────────────

  async function work(batch: readonly [Task, ...Task[]], conversation: string): Promise<void> {
    const [lead, ...merged] = batch;
    const { record } = lead;
    try {
      for (const task of batch) task.state = "running";
      for (const task of merged) task.lead = lead;
      const settings = ground.agents().settings(record.agent);
      if (settings === undefined) await finish(batch, errorOutcome(fail("SVC_AGENT_UNKNOWN", { agent: record.agent }), "refused"));
      else await finish(batch, await turn(batch, settings));
    } catch (error) {
      log.error({ task: record.id, err: error }, "a turn failed in the kernel");
      for (const task of batch) settle(task, { ...resultOf(record, now()), status: "error", ok: false, error: reasonOf(error), errorKind: "internal" });
    } finally {
      lanes.release(conversation);
      if (!running().length) for (const resolve of whenIdle.splice(0)) resolve();
    }
  }

  async function turn(batch: readonly [Task, ...Task[]], settings: AgentSettings): Promise<Outcome> {
    const [lead] = batch;
    const { record, live } = lead;
    const startedAt = now();
    const everyone = (event: TaskEvent) => {
      for (const task of batch) tell(task, event);
    };
    record.attempts += 1;
    if (batch.length > 1) record.tasks = batch.map((task) => task.record.id);
    // Not waited for: commits keep their order, and a crash before this one only means that the attempt was not counted.
    store.commit(batch.map((task) => put(TRACES, task.record.id, { ...task.record, attempts: record.attempts, steps: [] }))).catch((error) => log.error({ err: error }, "the start of a task was not stored"));
    bus.publish({ kind: "agent", type: "task:started", agentId: record.agent, ref: record.id, summary: `${record.agent} started`, data: { taskId: record.id, channel: record.inbound.channel, attempt: record.attempts } });
    everyone({ type: "started", taskId: record.id, agent: record.agent });

    const reply = live.hooks.holdsStream || record.route === undefined ? undefined : deliveries.open(record.route.reply, record.id, record.agent);
    const control = {
      signal: lead.abort.signal,
      prepareSeconds: settings.preSpawnTimeoutSec,
      graceMs: GRACE_MS,
      toolUseRequired: settings.toolUseRequired,
      steps: record.steps,
      failed: ground.failed,
      step: (name: string) => {
        lead.step = name;
      },
      event: (event: Exclude<TaskEvent, { type: "accepted" | "queued" | "started" }>) => {
        if (event.type === "text" && live.hooks.holdsStream) return;
        if (event.type === "text") reply?.text(event.text);
        if (event.type === "step") {
          const { name, phase } = event.step;
          bus.publish({ kind: "agent", type: "task:step", agentId: record.agent, ref: record.id, summary: `${name} ${phase}`, data: { taskId: record.id, step: name, phase } });
        }
        everyone(event);
      },
    };

    for (let attempt = 1; ; attempt += 1) {
      const messages = batch.map((task) => task.record.inbound) as [Inbound, ...Inbound[]];
      const now_: Turn = { id: record.id, agent: settings.agent, route: record.route as Route, messages, rootId: record.inbound.rootId, attempt, startedAt };
      try {
        const prepared = await prepareTurn(now_, baseContext(now_), live, control);
        lead.step = "agent";
        const seconds = Math.round((record.inbound.options?.timeoutMinutes ?? settings.maxExecutionMinutes) * 60);
        const limit = setTimeout(() => lead.abort.abort({ kind: "timeout", text: `timed out after ${seconds}s` } satisfies Ending), seconds * 1000);
        try {
          return await runTurn(prepared, control);
        } finally {
          clearTimeout(limit);
          await reply?.end();
        }
      } catch (error) {
        if (lead.abort.signal.aborted) return endedOutcome(lead.abort.signal.reason);
        if ((error as { code?: string }).code !== STALLED) return errorOutcome(error, (error as { code?: string }).code ?? "prepare");
        const { seconds, step } = error as { seconds?: number; step?: string };
        const text = `timed out before spawn after ${seconds}s in step ${step}`;
        record.steps.push({ name: String(step), kind: "prepare", at: now(), error: text });
        log.warn({ task: record.id, attempt }, text);
        if (attempt === 2) return { status: "timeout", reply: "", error: text, errorKind: "stalled" };
      }
    }
  }

  // ── 5. finish: deliver, commit, tell ──────────────────────────────────────────────────────────────────────────────────────

  async function finish(batch: readonly Task[], ended: Outcome): Promise<void> {
    const lead = batch[0] as Task;
    const { record, live } = lead;
    if (ended.errorKind === "interrupted" && refusing) {
      // Shutting down: the record stays in flight, so that the next start resumes or reports it.
      for (const task of batch) settle(task, { ...resultOf(record, now()), reply: ended.reply, error: ended.error ?? "", errorKind: "interrupted" });
      return;
    }
    const { delivery, outcome } = await prepareDelivery(record, live, ended);
    Object.assign(record, { status: outcome.status, endedAt: now(), response: outcome.reply }, factsOf(outcome));
    const sends = delivery !== undefined && delivery.held === undefined && !record.silent && deliveries.reaches(delivery.target);
    const ops: Op[] = batch.map((task) => put(TRACES, task.record.id, task === lead ? record : { ...record, id: task.record.id, inbound: task.record.inbound, startedAt: task.record.startedAt, steps: [] }));
    if (sends) ops.push(...deliveries.ops(delivery));
    let result = resultOf(record, now());
    try {
      await store.commit(ops);
      if (sends) deliveries.committed(delivery);
    } catch (error) {
      log.error({ task: record.id, err: error }, "the end of a task was not stored; it runs again after a restart");
      result = { ...result, ok: false, status: "error", error: `The answer could not be stored: ${reasonOf(error)}`, errorKind: "store" };
    }
    if (live.hooks.holdsStream && result.ok && result.reply !== "") for (const task of batch) tell(task, { type: "text", text: result.reply });
    bus.publish({
      kind: "agent",
      type: "task:completed",
      agentId: record.agent,
      ref: record.id,
      summary: `${record.agent} ${result.status}${result.errorKind === undefined ? "" : ` (${result.errorKind})`}`,
      data: { taskId: record.id, status: result.status, durationMs: result.durationMs, channel: record.inbound.channel, conversation: record.conversation, ...(result.usage === undefined ? {} : { usage: result.usage }), ...(result.sessionId === undefined ? {} : { sessionId: result.sessionId }), ...(result.errorKind === undefined ? {} : { errorKind: result.errorKind }) },
    });
    for (const task of batch) settle(task, task === lead ? result : { ...result, taskId: task.record.id });
  }

  /** The `deliver` hook sees every answer, also those that go back over HTTP. */
  async function prepareDelivery(record: TaskRecord, live: Live, outcome: Outcome): Promise<{ delivery?: Delivery; outcome: Outcome }> {
    const { route } = record;
    if (route === undefined) return { outcome };
    const text = outcome.status === "ok" ? outcome.reply : deliveries.reaches(route.reply) ? failureText(outcome) : outcome.reply;
    if (text === "" && outcome.status !== "ok") return { outcome };
    const draft: Delivery = { id: `out_${randomUUID()}`, kind: outcome.status === "ok" ? "reply" : "notice", target: route.reply, text, taskId: record.id, agent: record.agent };
    try {
      const delivery = await live.hooks.deliver(draft);
      if (delivery.held !== undefined) return { delivery, outcome: { ...outcome, status: "error", reply: "", error: delivery.held, errorKind: "held" } };
      return { delivery, outcome: outcome.status === "ok" ? { ...outcome, reply: delivery.text } : outcome };
    } catch (error) {
      return { outcome: { ...outcome, status: "error", reply: "", error: reasonOf(error), errorKind: "held" } };
    }
  }

  async function drop(task: Task, reason: string): Promise<void> {
    const { record } = task;
    const { inbound } = record;
    // Not stored any longer than it took to decide: only its dedup key stays.
    await store.commit([remove(TRACES, record.id)]).catch((error) => log.error({ err: error }, "a dropped message was not removed"));
    bus.publish({ kind: "message", type: "message:dropped", ...(record.agent === "" ? {} : { agentId: record.agent }), summary: `${inbound.channel} message dropped: ${reason}`, ...refOf(inbound), data: { channel: inbound.channel, reason } });
    settle(task, { ok: false, taskId: record.id, agent: record.agent, reply: "", status: "error", error: `The message was dropped: ${reason}`, errorKind: "dropped", durationMs: now() - record.startedAt });
  }

  function settle(task: Task, result: TaskResult): void {
    task.state = "settled";
    tasks.delete(task.record.id);
    task.placed.resolve();
    task.settle(result);
    task.listeners.clear();
  }

  // ── the doors ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

  const running = () => [...tasks.values()].filter((task) => task.state === "running" && task.lead === undefined);

  /** End a task that is not settled yet. Answers when it has ended; false when there is nothing (more) to end. */
  async function end(id: string, ending: Ending): Promise<boolean> {
    const named = tasks.get(id);
    const task = named?.lead ?? named;
    if (task === undefined || task.ending !== undefined) return false;
    task.ending = ending;
    if (task.state === "waiting" && lanes.remove(task)) await finish([task], endedOutcome(ending));
    else {
      task.abort.abort(ending);
      await task.result;
    }
    return true;
  }

  return {
    accept: async (message) => (await accept(message)).accepted,
    async run(message, listen, signal) {
      const { task, accepted } = await accept(message, listen === undefined ? {} : { listen });
      if (task === undefined) throw fail("SVC_TASK_DUPLICATE", { task: accepted.taskId });
      const stop = () => void end(accepted.taskId, { kind: "cancelled", text: "The caller stopped waiting." });
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
      try {
        return await task.result;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
    cancel: (id, reason) => end(id, { kind: "cancelled", text: reason ? `cancelled: ${reason}` : "cancelled" }),
    async followup(id, { text, replace, sender }) {
      const named = tasks.get(id);
      const followed = named?.lead ?? named;
      if (followed?.record.route === undefined) return undefined;
      const { inbound, route } = followed.record;
      const { platformId: _platformId, dedupKey: _dedupKey, media: _media, replyTo: _replyTo, ...context } = inbound;
      const message: Message = { ...context, entry: "followup", text, ...(sender === undefined ? {} : { sender: { id: sender } }) };
      const { task, accepted } = await accept(message, { pinned: route, front: replace, keep: true });
      // It must stand in line before the followed task ends, or another message could slip in between.
      await task?.placed.promise;
      if (replace) void end(followed.record.id, { kind: "cancelled", text: "cancelled: replaced by a follow-up" });
      return accepted;
    },
    deliver: (delivery) => deliveries.send(delivery),
    running: () => running().map(describeTask),
    queued: () => [...tasks.values()].filter((task) => task.state !== "running" && task.state !== "settled").map(describeTask),
    readmit(record) {
      const task = createTask(record, ground.live(), { keep: true });
      tasks.set(record.id, task);
      inRoot(task, () => void advance(task));
    },
    async close(record, outcome) {
      const task = createTask(record, ground.live());
      await inRoot(task, () => finish([task], outcome));
    },
    refuse() {
      refusing = true;
    },
    idle: () => (running().length === 0 ? Promise.resolve() : new Promise((resolve) => whenIdle.push(resolve))),
    async interrupt() {
      const stopping: Ending = { kind: "interrupted", text: "The daemon is stopping; this is taken up again at the next start." };
      await Promise.all([...tasks.values()].filter((task) => task.lead === undefined).map((task) => end(task.record.id, stopping)));
    },
    find: (id) => {
      const named = tasks.get(id);
      return (named?.lead ?? named)?.record;
    },
  };
}
