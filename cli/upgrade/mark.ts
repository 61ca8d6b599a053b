import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const fileOf = (dataFolder: string): string => join(dataFolder, "upgrading.json");

/** Marks, while `work` runs, that the daemon is down for an upgrade and will return: clients with a message wait. */
export async function markedAsUpgrade<T>(dataFolder: string, work: () => Promise<T>): Promise<T> {
  writeFileSync(fileOf(dataFolder), JSON.stringify({ pid: process.pid }), { mode: 0o600 });
  try {
    return await work();
  } finally {
    rmSync(fileOf(dataFolder), { force: true });
  }
}

/** Whether the daemon of that folder is away for an upgrade; false if the upgrading process was killed. */
export function isUpgrading(dataFolder: string): boolean {
  try {
    return isAlive((JSON.parse(readFileSync(fileOf(dataFolder), "utf8")) as { pid: number }).pid);
  } catch {
    return false;
  }
}

/** Whether a process has that id, of any user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
