import { codeOf, type StoreWork, sleep, type WorkEntry } from "@svc/sdk";
import type { Placement } from "../core/flow/work.ts";

/** Milliseconds until a call is made again. */
const AGAIN_MS = 500;

/**
 * Wraps rows so that changes are retried until the store can be reached: they are idempotent, since an attempt may have succeeded already. The error
 * is thrown once `over` returns true.
 */
export function patientRows(rows: StoreWork, over: () => boolean): StoreWork {
  async function again<A>(ask: () => Promise<A>): Promise<A> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (over() || codeOf(error) !== "SVC_STORE_UNREACHABLE") throw error;
        await sleep(AGAIN_MS);
      }
    }
  }
  return {
    ...rows,
    enter: (...asked) => again(() => rows.enter(...asked)),
    replace: (...asked) => again(() => rows.replace(...asked)),
    cancel: (...asked) => again(() => rows.cancel(...asked)),
    finish: (...asked) => again(() => rows.finish(...asked)),
    release: (claim) => again(() => rows.release(claim)),
    park: (claim) => again(() => rows.park(claim)),
    unpark: (claim) => again(() => rows.unpark(claim)),
  };
}

/** An item and its place as the rows take them. */
export function entryOf(id: string, { conversation, agent, mode, sort, size, front, keep }: Placement): WorkEntry {
  return {
    id,
    conversation,
    agent,
    mode: mode(),
    ...(sort === undefined ? {} : { sort: sort() }),
    ...(size === undefined ? {} : { size }),
    ...(front === undefined ? {} : { front }),
    ...(keep === undefined ? {} : { keep }),
  };
}
