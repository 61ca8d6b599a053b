import { type Op, type PluginContext, put, remove } from "@svc/sdk";

/** Entries of a run that may not have been told on the bus; its key is the run's id. */
interface UntoldRow {
  /** All after this one. */
  readonly after: number;
}

const UNTOLD = "untold";
const PAGE = 200;
/** Milliseconds for which told runs are gathered, so that noting it costs one commit for all of them. */
const GATHER_MS = 1_000;

/**
 * Entries that were not published yet. The row is written with the entries and removed some time after they were published: after a crash they are
 * published again under the same ids.
 */
export interface UntoldBook {
  /** The row to write in the commit of the run's next entries, if it is not there. */
  rows(runId: string, after: number): readonly Op[];
  /** The rows were written. */
  written(runId: string): void;
  /** Nothing of the run is left to tell. */
  told(runId: string): void;
  /** Reads what an earlier life of the daemon may not have told: before anything is written here. */
  load(): Promise<void>;
  /** These runs, with the last entry that was told for certain. Each is left until `told` again. */
  left(): ReadonlyMap<string, number>;
  /** The remaining entries of the run are published. */
  caughtUp(runId: string): void;
  /** Notes what was told. */
  stop(): Promise<void>;
}

/** Opens the book. */
export function openUntold(ctx: Pick<PluginContext, "jobs" | "store" | "log">): UntoldBook {
  const rows = ctx.store.collection<UntoldRow>(UNTOLD);
  /** Runs whose row is in the store. */
  const stored = new Set<string>();
  const told = new Set<string>();
  const left = new Map<string, number>();
  let waiting: (() => void) | undefined;

  async function note(): Promise<void> {
    waiting?.();
    waiting = undefined;
    const done = [...told];
    told.clear();
    if (done.length === 0) return;
    // From here on the next entries of these runs write their row anew: commits keep their order.
    for (const runId of done) stored.delete(runId);
    await ctx.store
      .commit(done.map((runId) => remove(UNTOLD, runId)))
      .catch((error) => ctx.log.debug({ err: error }, "it was not noted which events were told"));
  }

  return {
    rows(runId, after) {
      told.delete(runId);
      return stored.has(runId) ? [] : [put(UNTOLD, runId, { after } satisfies UntoldRow)];
    },
    written: (runId) => void stored.add(runId),
    told(runId) {
      // Its row stands for older entries, too.
      if (left.has(runId)) return;
      told.add(runId);
      waiting ??= ctx.jobs.after(GATHER_MS, () => void note());
    },
    async load() {
      for (let after: string | undefined; ; ) {
        const page = await rows.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
        for (const { key, value } of page) {
          stored.add(key);
          left.set(key, value.after);
        }
        after = page.at(-1)?.key;
        if (page.length < PAGE) return;
      }
    },
    left: () => new Map(left),
    caughtUp: (runId) => void left.delete(runId),
    stop: note,
  };
}
