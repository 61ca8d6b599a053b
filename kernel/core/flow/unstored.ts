import { codeOf, type Delivery, put, type Route, reasonOf, type TaskResult } from "@svc/sdk";
import type { Live } from "../host/live.ts";
import type { Task } from "./live-task.ts";
import type { PipelineDeps } from "./pipeline.ts";
import { type TaskRecord, TRACES } from "./record.ts";
import { unstoredNotice } from "./words.ts";

type Deps = Pick<PipelineDeps, "store" | "deliveries" | "log" | "now">;

/** Codes of a store that takes nothing at all now: the record that could not be written is not to blame. */
const UNABLE = /^SVC_STORE_(BUSY|FULL|FAILED|CLOSED|UNREACHABLE|FENCED)$/;

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

/** The end of a turn could not be written as it was: answers with what its callers get instead, and tells a sender who waits for the answer. Never rejects. */
export async function endUnstored(
  batch: readonly [Task, ...Task[]],
  { withheld: _withheld, ...result }: TaskResult,
  delivery: Delivery | undefined,
  cause: unknown,
  deps: Deps,
): Promise<TaskResult> {
  const [{ record, live }] = batch;
  deps.log.error({ task: record.id, err: cause }, "the end of a task was not stored as it was");
  const failed: TaskResult = { ...result, ok: false, status: "error", error: `The answer could not be stored: ${reasonOf(cause)}`, errorKind: "store" };
  // Where another daemon has taken over, it answers: this one says nothing more.
  const answers = delivery !== undefined && delivery.held === undefined && codeOf(cause) !== "SVC_STORE_FENCED";
  if (answers) void tellUnstored(record, live, cause, deps);
  await endBare(batch, failed, cause, deps);
  return failed;
}
