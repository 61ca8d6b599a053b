import { vi } from "vitest";

const STEP_MS = 50;

/**
 * Does work that waits for long timers, with time jumping ahead while `when` says so: disk and sockets stay real and keep their own
 * pace. Timers that were set before, and intervals, are left alone.
 */
export async function hasten<T>(work: () => Promise<T>, when: () => boolean = () => true): Promise<T> {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    let over = false;
    const done = () => {
      over = true;
    };
    const result = work();
    result.then(done, done);
    while (!over) {
      if (when()) await vi.advanceTimersByTimeAsync(STEP_MS);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return await result;
  } finally {
    vi.useRealTimers();
  }
}
