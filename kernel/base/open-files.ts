import { readFileSync } from "node:fs";

/** How long a refused connection is reported as a problem, in milliseconds. */
const TOLD_MS = 60_000;
let problem = "";
let refusedAt = Number.NEGATIVE_INFINITY;

/** The number of files and sockets that this process may have open (`ulimit -n`); undefined where the system does not tell. */
export function openFilesLimit(): number | undefined {
  try {
    const limit = Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1]);
    return Number.isNaN(limit) ? undefined : limit;
  } catch {
    return undefined;
  }
}

/** Notes that a connection was refused, so that files can still be opened, and why. Returns whether that is news. */
export function noteRefusedConnection(reason: string): boolean {
  const news = openFilesProblem() === undefined;
  problem = reason;
  refusedAt = performance.now();
  return news;
}

/** Why connections were refused, for a minute after the latest. The limit is the process's, and so is this. */
export const openFilesProblem = (): string | undefined => (performance.now() - refusedAt < TOLD_MS ? problem : undefined);
