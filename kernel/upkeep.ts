import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { remove, type Store } from "@svc/sdk";
import { MINUTES } from "./job-book.ts";
import { sweepTemporary } from "./store/index.ts";

const HOUR_MS = 3_600_000;
/** As long as a sender may repeat itself, or a clock be set back. */
const KEPT_MS = 7 * 24 * HOUR_MS;
/** As long as it may take until a clock that is ahead is put right. */
const DOUBT_MS = 24 * HOUR_MS;
const CUTOFF = "forget";

/** How often `createForgetting` is to look, in milliseconds. */
export const FORGET_EVERY_MS = HOUR_MS;

/** What is older than `before` goes, once the clock has stood by it for long enough. All but `ran`, which counts running time, are Unix times. */
interface Cutoff {
  readonly before: number;
  readonly at: number;
  readonly ran: number;
}

/**
 * Dedup keys and claims of minutes go when they are a week old. A clock that is ahead would make all of them old, and when it is right
 * again what was done would be done twice: so a cutoff is noted first and carried out after a day of running in which the clock was not
 * set back behind it. The answer looks once.
 */
export function createForgetting(store: Store, now: () => number, monotonic: () => number = () => performance.now()): () => Promise<void> {
  const marks = store.collection<Cutoff>("marks");
  let lookedAt = monotonic();
  return async () => {
    const at = now();
    const looked = monotonic();
    const passed = looked - lookedAt;
    lookedAt = looked;
    const noted = (await marks.get(CUTOFF))?.value;
    const fresh: Cutoff = { before: at - KEPT_MS, at, ran: 0 };
    if (noted === undefined || at < noted.at) await marks.put(CUTOFF, fresh);
    else if (noted.ran + passed < DOUBT_MS) await marks.put(CUTOFF, { ...noted, ran: noted.ran + passed });
    else {
      await forget(store, noted.before);
      await marks.put(CUTOFF, fresh);
    }
  };
}

/** A page at a time. */
async function forget(store: Store, before: number): Promise<void> {
  for (const collection of ["dedup", MINUTES]) {
    const keys = store.collection<{ at: number }>(collection, { indexes: ["at"] });
    for (;;) {
      const page = await keys.list({ by: "at", to: before, limit: 500 });
      await store.commit(page.map(({ key }) => remove(collection, key)));
      if (page.length < 500) break;
    }
  }
}

/** Removes what killed writers left beside the configuration, in the data folder and in the folder of each plugin. */
export async function sweepLeftovers(folder: string, dataFolder: string): Promise<void> {
  const plugins = join(dataFolder, "plugins");
  const found = await readdir(plugins, { withFileTypes: true }).catch(() => []);
  const own = found.filter((entry) => entry.isDirectory()).map(({ name }) => join(plugins, name));
  await Promise.all([folder, dataFolder, ...own].map(sweepTemporary));
}
