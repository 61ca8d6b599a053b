import { codeOf, type Log, type Op, onAbort, put } from "@svc/sdk";
import type { ScopedStore } from "../../base/state-store.ts";
import type { Task } from "./live-task.ts";
import { TRACES } from "./record.ts";

/** Milliseconds until a call to an unreachable store is retried. */
const AGAIN_MS = 500;

interface CountOptions {
  readonly store: ScopedStore;
  /** Aborted when the run is not to begin any more. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, "error">;
}

type Counted = Pick<Task, "record" | "foreseen">;

/**
 * Count a run with the records of its messages. Resolves once the count is durable: a crash from then on has used up a try. Nothing is written, and
 * nothing to be waited for, where the message was stored with the count because its turn was foreseen. While the store
 * cannot be reached it is tried again until `signal`, because another daemon may take the task over, and would count this run as its own.
 * Rejects where that has happened (`SVC_STORE_FENCED`), and with the reason of `signal`. A disk that takes nothing stops no work.
 */
export function countAttempt(batch: readonly [Counted, ...Counted[]], options: CountOptions): Promise<void> | undefined {
  for (const { record } of batch) record.attempts += 1;
  const [{ record: lead, foreseen }] = batch;
  if (batch.length === 1 && foreseen !== undefined && foreseen === lead.route) return undefined;
  if (batch.length > 1) lead.tasks = batch.map(({ record }) => record.id);
  else delete lead.tasks;
  const counted = stored(
    batch.map(({ record }) => put(TRACES, record.id, { ...record, steps: [] })),
    options,
  );
  // Read before the engine begins, and not at all where the turn ends before that.
  counted.catch(() => {});
  return counted;
}

async function stored(ops: readonly Op[], { store, signal, log }: CountOptions): Promise<void> {
  for (;;) {
    try {
      return await store.note(ops);
    } catch (error) {
      const code = codeOf(error);
      if (code === "SVC_STORE_FENCED") throw error;
      if (code !== "SVC_STORE_UNREACHABLE") return log.error({ err: error }, "the start of a task was not stored");
      await pause(signal);
    }
  }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      stop();
      resolve();
    }, AGAIN_MS);
    const stop = onAbort(signal, () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
