import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "@svc/sdk";
import { sweepTemporary } from "./store/index.ts";

const MINUTES = "minutes";
const MISSED = "missed-minutes";
const MISSED_KEPT = 1_000;

/**
 * Claims a job's minute: true for the one caller who gets it, over restarts and clock jumps. What was claimed is kept by the hour and
 * for a week: a clock set back runs nothing twice, and one that was ahead for a moment keeps no later minute from running.
 */
export async function claimMinute(store: Store, job: string, minute: string, now: number): Promise<boolean> {
  const claims = store.collection<{ minutes: readonly string[]; at: number }>(MINUTES, { indexes: ["at"] });
  const key = `${job} ${minute.slice(0, "YYYY-MM-DDTHH".length)}`;
  for (;;) {
    const hour = await claims.get(key);
    const minutes = hour?.value.minutes ?? [];
    if (minutes.includes(minute)) return false;
    try {
      await claims.put(key, { minutes: [...minutes, minute], at: now }, hour?.version ?? "absent");
      return true;
    } catch (error) {
      if ((error as { code?: string }).code !== "SVC_STORE_CONFLICT") throw error;
    }
  }
}

/** Minutes of a job that passed unseen, from the first to the last, and when that was noticed: decided once, not to be made up for. */
export interface MissedMinutes {
  readonly job: string;
  /** ISO 8601. */
  readonly from: string;
  readonly to: string;
  /** Unix time in milliseconds. */
  readonly at: number;
}

/** Records the decision (FAULT-18). The newest thousand are kept. */
export async function noteMissed(store: Store, missed: MissedMinutes): Promise<void> {
  const journal = store.journal<MissedMinutes>(MISSED);
  await journal.append(missed);
  await journal.trim(MISSED_KEPT);
}

/** Dedup keys are kept for as long as a sender may repeat itself, claims for as long as a clock may be set back; older ones go, a page at a time. */
export async function forgetOld(store: Store, before: number): Promise<void> {
  for (const collection of ["dedup", MINUTES]) {
    const keys = store.collection<{ at: number }>(collection, { indexes: ["at"] });
    for (;;) {
      const page = await keys.list({ by: "at", to: before, limit: 500 });
      await store.commit(page.map(({ key }) => ({ op: "delete", collection, key })));
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
