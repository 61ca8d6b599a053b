import { setTimeout as pause } from "node:timers/promises";
import { codeOf, type Delivery, type Op, put, type Route, reasonOf, type TaskResult } from "@svc/sdk";
import type { Live } from "../host/live.ts";
import type { Task } from "./live-task.ts";
import type { PipelineDeps } from "./pipeline.ts";
import { type TaskRecord, TRACES } from "./record.ts";
import { unstoredNotice } from "./words.ts";

type Deps = Pick<PipelineDeps, "store" | "deliveries" | "log" | "now">;

/** Codes of a store that takes nothing at all now: the record that could not be written is not to blame. */
const UNABLE = /^SVC_STORE_(BUSY|FULL|FAILED|CLOSED|UNREACHABLE|FENCED)$/;

/** The writes of a task's end, including the answer for the outbox, and why the store rejected them. */
interface Unstored {
  readonly ops: readonly Op[];
  readonly delivery: Delivery | undefined;
  readonly cause: unknown;
}

/** Codes among these that a retry may resolve, and its delay. */
const PASSING = /^SVC_STORE_(BUSY|FULL|UNREACHABLE)$/;
const AGAIN_MS = 5_000;

/** Stores an end once there is room or an answer: the sender gets it then, and no run is repeated. A stop leaves that to the next start. Never rejects. */
async function storeLater({ id }: TaskRecord, { ops, delivery, cause }: Unstored, { store, deliveries, log }: Deps): Promise<void> {
  for (let error = cause; PASSING.test(codeOf(error) ?? ""); ) {
    await pause(AGAIN_MS, undefined, { ref: false });
    try {
      await store.commit(ops);
      if (delivery !== undefined) deliveries.committed(delivery);
      return log.info({ task: id }, "the end of a task is stored now, later than it came");
    } catch (failure) {
      error = failure;
      if (!UNABLE.test(codeOf(error) ?? "")) log.error({ task: id, err: error }, "the end of a task is not stored; the next start takes the task up again");
    }
  }
}

/** The commit of an answer failed, so the outbox is empty: notify the sender directly, best effort. Never rejects. */
async function tellUnstored({ id: taskId, agent, route }: TaskRecord, { hooks }: Live, error: unknown, { deliveries, log }: Deps): Promise<void> {
  try {
    const target = (route as Route).reply;
    const notice = await hooks.deliver({ id: `out_${taskId}`, kind: "notice", target, text: unstoredNotice(reasonOf(error)), taskId, agent });
    if (notice.held === undefined) await deliveries.tell(notice);
  } catch (failure) {
    log.warn({ task: taskId, err: failure }, "the sender was not told that an answer could not be stored");
  }
}

/** A plugin put something that is not JSON into a record or delivery: the tasks end without it, or each restart would run them again. Never rejects. */
async function endBare(batch: readonly Task[], { status, error, errorKind }: TaskResult, cause: unknown, { store, log, now }: Deps): Promise<void> {
  if (UNABLE.test(codeOf(cause) ?? "")) return;
  const ended = { status, endedAt: now(), steps: [], ...(error === undefined ? {} : { error }), ...(errorKind === undefined ? {} : { errorKind }) };
  const bare = batch.map(({ record: { id, inbound, agent, conversation, attempts, startedAt } }) =>
    put(TRACES, id, { id, inbound, agent, conversation, attempts, startedAt, ...ended } satisfies TaskRecord),
  );
  await store.commit(bare).catch((failure) => log.error({ err: failure }, "the end of a task was not stored"));
}

/**
 * The end of a turn could not be stored: returns a substitute result for its callers, and notifies a sender who waits for the answer. The original is
 * stored once that is possible. Never rejects.
 */
export async function endUnstored(
  batch: readonly [Task, ...Task[]],
  { withheld: _withheld, ...result }: TaskResult,
  unstored: Unstored,
  deps: Deps,
): Promise<TaskResult> {
  const [{ record, live }] = batch;
  const { delivery, cause } = unstored;
  deps.log.error({ task: record.id, err: cause }, "the end of a task was not stored as it was");
  const failed: TaskResult = { ...result, ok: false, status: "error", error: `The answer could not be stored: ${reasonOf(cause)}`, errorKind: "store" };
  // Where another daemon has taken over, it answers: this one says nothing more.
  const answers = delivery !== undefined && delivery.held === undefined && codeOf(cause) !== "SVC_STORE_FENCED";
  if (answers) void tellUnstored(record, live, cause, deps);
  void storeLater(record, unstored, deps);
  await endBare(batch, failed, cause, deps);
  return failed;
}
