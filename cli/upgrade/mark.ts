import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const fileOf = (dataFolder: string): string => join(dataFolder, "upgrading.json");

/** Says, while `work` runs, that the daemon is away for an upgrade and comes back: who has a message for it waits. */
export async function markedAsUpgrade<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  writeFileSync(fileOf(dataFolder), JSON.stringify({ pid: process.pid }), { mode: 0o600 });
  try {
    return await work();
  } finally {
    rmSync(fileOf(dataFolder), { force: true });
  }
}

/** Is the daemon of that folder away for an upgrade? Not where the process that does it was killed. */
export function isUpgrading(dataFolder: string): boolean {
  try {
    process.kill((JSON.parse(readFileSync(fileOf(dataFolder), "utf8")) as { pid: number }).pid, 0);
    return true;
  } catch {
    return false;
  }
}
