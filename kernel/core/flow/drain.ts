import { withTimeout } from "@svc/sdk";
import type { LiveTasks } from "./live-tasks.ts";

/** Wait for running turns, each for as long as its agent may ask for, and no longer once `hurry` aborts. Queued work waits in the store for the next start. */
export async function drain(tasks: LiveTasks, seconds: (agent: string) => number, hurry: AbortSignal): Promise<void> {
  const began = performance.now();
  while (!hurry.aborted) {
    const left = Math.max(0, ...tasks.working().map(({ agent }) => began + seconds(agent) * 1000 - performance.now()));
    if (left === 0) return;
    await withTimeout(tasks.idle(), Math.min(left, 60_000), () => undefined, hurry);
  }
}
