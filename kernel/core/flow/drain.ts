import type { LiveTasks } from "./live-tasks.ts";

/** Wait for running turns, each for as long as its agent may ask for, and no longer once `hurry` aborts. Queued work waits in the store for the next start. */
export async function drain(tasks: LiveTasks, seconds: (agent: string) => number, hurry: AbortSignal): Promise<void> {
  const began = performance.now();
  const hurried = new Promise<void>((resolve) => {
    hurry.addEventListener("abort", () => resolve(), { once: true });
  });
  while (!hurry.aborted) {
    const left = Math.max(0, ...tasks.running().map(({ agent }) => began + seconds(agent) * 1000 - performance.now()));
    if (left === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const time = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, Math.min(left, 60_000));
    });
    await Promise.race([tasks.idle(), time, hurried]);
    clearTimeout(timer);
  }
}
