import { type Log, type Op, put, type Route, reasonOf, type TaskResult } from "@svc/sdk";
import type { ScopedStore } from "../boot/state-store.ts";
import type { Live } from "../host/live.ts";
import type { Announcer } from "./announce.ts";
import { type Answer, answerOf } from "./answer-delivery.ts";
import type { Deliveries } from "./deliver/deliveries-port.ts";
import { place, resultOf, type Task, tell } from "./live-task.ts";
import type { Ending, Outcome } from "./outcome.ts";
import { mergedRow, type TaskRecord, TRACES } from "./record.ts";
import { errorOutcome, factsOf } from "./routing.ts";
import { unstoredNotice } from "./words.ts";

/** What the end of a turn stands on. */
export interface FinishDeps {
  readonly store: ScopedStore;
  readonly deliveries: Deliveries;
  readonly log: Log;
  readonly now: () => number;
  readonly announce: Announcer;
  /** The task is over; its callers get the result. */
  settle(task: Task, result: TaskResult): void;
  /** The daemon is on its way out: what was interrupted stays as it is stored. */
  stopping(): boolean;
}

/** The store takes nothing at all now: what could not be written is not to blame. */
const UNABLE: ReadonlySet<string> = new Set(["SVC_STORE_BUSY", "SVC_STORE_FULL", "SVC_STORE_FAILED", "SVC_STORE_CLOSED"]);

/** The outcome of a task that failed in the kernel itself. */
export function brokenOutcome(record: TaskRecord, error: unknown, log: Log): Outcome {
  log.error({ task: record.id, err: error }, "a task failed in the kernel");
  return errorOutcome(error, "internal");
}

/** Its record stays in flight, so that the next start resumes or reports it. */
export function interruptedResult({ record }: Task, { text }: Pick<Ending, "text">, now: number, reply = ""): TaskResult {
  return { ...resultOf(record, now), reply, error: text, errorKind: "interrupted" };
}

/** Ends the tasks of a turn: the `deliver` taps, one commit of answer and outbox, then events and callers. The first one holds the answer. */
export function createFinish(deps: FinishDeps): (batch: readonly Task[], ended: Outcome) => Promise<void> {
  const { store, deliveries, log, now, announce, settle, stopping } = deps;

  async function finish(batch: readonly Task[], ended: Outcome): Promise<void> {
    const lead = batch[0] as Task;
    const { record, live } = lead;
    for (const task of batch) place(task);
    if (ended.errorKind === "interrupted" && stopping()) {
      for (const task of batch) settle(task, interruptedResult(task, { text: ended.error ?? "" }, now(), ended.reply));
      return;
    }
    const { delivery, outcome } = await answered(record, live, ended);
    Object.assign(record, { status: outcome.status, endedAt: now(), response: outcome.reply }, factsOf(outcome));
    const sends = delivery !== undefined && delivery.held === undefined && !record.silent && deliveries.reaches(delivery.target);
    const ops: Op[] = batch.map((task) => put(TRACES, task.record.id, task === lead ? record : mergedRow(task.record, record)));
    let result = resultOf(record, now());
    try {
      if (sends) ops.push(...deliveries.ops(delivery));
      await store.commit(ops);
      if (sends) deliveries.committed(delivery);
    } catch (error) {
      log.error({ task: record.id, err: error }, "the end of a task was not stored as it was");
      result = { ...result, ok: false, status: "error", error: `The answer could not be stored: ${reasonOf(error)}`, errorKind: "store" };
      if (sends) void tellUnstored(record, live, error);
      if (!UNABLE.has((error as { code?: string }).code ?? "")) await endBare(batch, result);
    }
    if (live.hooks.holdsStream && result.ok && result.reply !== "") for (const task of batch) tell(task, { type: "text", text: result.reply });
    announce.completed(record, result);
    for (const task of batch) settle(task, task === lead ? result : { ...result, taskId: task.record.id });
  }

  async function answered(record: TaskRecord, { hooks }: Live, ended: Outcome): Promise<Answer> {
    try {
      return await answerOf(record, hooks, ended, deliveries);
    } catch (error) {
      return { outcome: brokenOutcome(record, error, log) };
    }
  }

  /** Whoever waits on a channel must not wait for ever: the outbox has nothing of it. */
  async function tellUnstored({ id: taskId, agent, route }: TaskRecord, { hooks }: Live, error: unknown): Promise<void> {
    try {
      const target = (route as Route).reply;
      const notice = await hooks.deliver({ id: `out_${taskId}`, kind: "notice", target, text: unstoredNotice(reasonOf(error)), taskId, agent });
      if (notice.held === undefined) await deliveries.tell(notice);
    } catch (failure) {
      log.warn({ task: taskId, err: failure }, "the sender was not told that an answer could not be stored");
    }
  }

  /** What a plugin put into a record or delivery is no JSON: the tasks end without it, or each restart would run them again. */
  async function endBare(batch: readonly Task[], { status, error, errorKind }: TaskResult): Promise<void> {
    const ended = { status, endedAt: now(), steps: [], ...(error === undefined ? {} : { error }), ...(errorKind === undefined ? {} : { errorKind }) };
    const bare = batch.map(({ record: { id, inbound, agent, conversation, attempts, startedAt } }) =>
      put(TRACES, id, { id, inbound, agent, conversation, attempts, startedAt, ...ended } satisfies TaskRecord),
    );
    await store.commit(bare).catch((failure) => log.error({ err: failure }, "the end of a task was not stored"));
  }

  return finish;
}
