import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "@svc/sdk";
import { sweepTemporary } from "./store/index.ts";

/**
 * Claims a job's minute: true for the one caller who gets it, over restarts and clock jumps. A claim of an earlier or equal minute
 * than the last one of the job is refused, so that a clock set back fires nothing twice.
 */
export async function claimMinute(store: Store, job: string, minute: string, now: number): Promise<boolean> {
  const claims = store.collection<{ minute: string; at: number }>("minutes");
  const last = await claims.get(job);
  if (last !== undefined && last.value.minute >= minute) return false;
  try {
    await claims.put(job, { minute, at: now }, last?.version ?? "absent");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "SVC_STORE_CONFLICT") return false;
    throw error;
  }
}

/** Dedup keys are kept for as long as a sender may repeat itself; older ones go, a page at a time. */
export async function forgetDedup(store: Store, before: number): Promise<void> {
  const keys = store.collection<{ at: number }>("dedup", { indexes: ["at"] });
  for (;;) {
    const page = await keys.list({ by: "at", to: before, limit: 500 });
    await store.commit(page.map(({ key }) => ({ op: "delete", collection: "dedup", key })));
    if (page.length < 500) return;
  }
}

/** Removes what killed writers left beside the configuration, in the data folder and in the folder of each plugin. */
export async function sweepLeftovers(folder: string, dataFolder: string): Promise<void> {
  const plugins = join(dataFolder, "plugins");
  const found = await readdir(plugins, { withFileTypes: true }).catch(() => []);
  const own = found.filter((entry) => entry.isDirectory()).map(({ name }) => join(plugins, name));
  await Promise.all([folder, dataFolder, ...own].map(sweepTemporary));
}
