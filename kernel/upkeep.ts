import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "@svc/sdk";
import { MINUTES } from "./job-book.ts";
import { sweepTemporary } from "./store/index.ts";

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
