import { codeOf, type StoreWork, sleep, type WorkEntry } from "@svc/sdk";
import type { Placement } from "../core/flow/work.ts";

/** Milliseconds until a call is made again. */
const AGAIN_MS = 500;

/**
 * Rows whose changes wait until the store can be reached: what is asked may be done already, and is the same when it is asked again. The
 * error is thrown once `over` answers that nobody has the time any more.
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
