import { type PluginContext, reasonOf } from "@svc/sdk";

/** When a run must be looked at again; its key is the run's id, or names another run as well: `childKey`, `parentKey`. */
export interface WakeRow {
  /** Unix milliseconds. */
  readonly due: number;
}

/** The collection of `WakeRow`. */
export const WAKES = "wakes";

/** The row by which a run is told that one of its sub-processes has ended. */
export const childKey = (parent: string, child: string): string => `${parent}/${child}`;

const ABOVE = "^";

/** The row by which a sub-process is told to look at its parent: it was canceled, paused or resumed. */
export const parentKey = (child: string, parent: string): string => `${child}/${ABOVE}${parent}`;

/** Returns the run of a row, and the sub-process or the parent that it is about. */
export function wokenBy(key: string): { readonly runId: string; readonly child?: string; readonly parent?: string } {
  const [runId = key, other] = key.split("/");
  if (other === undefined) return { runId };
  return other.startsWith(ABOVE) ? { runId, parent: other.slice(ABOVE.length) } : { runId, child: other };
}

const PAGE = 100;
/** Milliseconds after which a look that failed is tried again. */
const AGAIN_MS = 5_000;

/** Looks at the runs whose time has come. Times are rows: in memory there is one timer, for the nearest. */
export interface WakeClock {
  /** A row of that time was written. */
  arm(due: number): void;
  /** Looks now, and from now on. */
  start(): void;
  stop(): Promise<void>;
}

/** Makes the clock. `wake` resolves when what was due is done and its row was moved or removed; it is asked in the order of the times. */
export function createWakeClock(ctx: Pick<PluginContext, "jobs" | "store" | "log" | "signal">, wake: (key: string) => Promise<void>): WakeClock {
  const rows = ctx.store.collection<WakeRow>(WAKES, { indexes: ["due"] });
  let timer: { readonly due: number; stop(): void } | undefined;
  let looking: Promise<void> | undefined;
  /** The earliest time that was asked for while a look was under way. */
  let next = Number.POSITIVE_INFINITY;
  let started = false;
  const over = () => !started || ctx.signal.aborted;

  function set(due: number): void {
    if (over() || due === Number.POSITIVE_INFINITY || (timer !== undefined && timer.due <= due)) return;
    timer?.stop();
    timer = { due, stop: ctx.jobs.at(due, () => look()) };
  }

  function look(): void {
    timer?.stop();
    timer = undefined;
    looking ??= passes().finally(() => {
      looking = undefined;
      const due = next;
      next = Number.POSITIVE_INFINITY;
      set(due);
    });
  }

  async function passes(): Promise<void> {
    // A row that stays due after it was woken must not delay the others, nor cause a busy loop.
    const seen = new Map<string, number>();
    try {
      for (;;) {
        const [now, due] = [Date.now(), await rows.list({ by: "due", limit: PAGE + seen.size })];
        const fresh = due.filter(({ key, value }) => seen.get(key) !== value.due);
        const ready = fresh.filter(({ value }) => value.due <= now);
        for (const { key, value } of ready) {
          if (over()) return;
          seen.set(key, value.due);
          await wake(key).catch((error) => {
            next = Math.min(next, Date.now() + AGAIN_MS);
            ctx.log.error(
              { err: error, wake: key },
              `what is due in run ${wokenBy(key).runId} could not be done: ${reasonOf(error)}; tried again in ${AGAIN_MS / 1_000} s`,
            );
          });
        }
        if (ready.length > 0) continue;
        if (fresh.length < due.length) next = Math.min(next, Date.now() + AGAIN_MS);
        next = Math.min(next, fresh[0]?.value.due ?? Number.POSITIVE_INFINITY);
        return;
      }
    } catch (error) {
      if (over()) return;
      next = Date.now() + AGAIN_MS;
      ctx.log.error({ err: error }, `what is due in runs could not be read: ${reasonOf(error)}; tried again in ${AGAIN_MS / 1_000} s`);
    }
  }

  return {
    arm(due) {
      if (looking !== undefined) next = Math.min(next, due);
      else set(due);
    },
    start() {
      started = true;
      look();
    },
    async stop() {
      started = false;
      timer?.stop();
      timer = undefined;
      await looking;
    },
  };
}
