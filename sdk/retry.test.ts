import { describe, expect, it, vi } from "vitest";
import { backoffMs, keepTrying } from "./retry.ts";
import { sleep } from "./time.ts";

describe("AUT-A3 retry", () => {
  it("AUT-A3 pauses double up to the longest and are spread by up to a fifth", () => {
    for (const [failures, base] of [
      [1, 200],
      [2, 400],
      [5, 3_200],
      [1_000, 60_000],
    ] as const) {
      const pause = backoffMs(failures);
      expect(pause).toBeGreaterThanOrEqual(base);
      expect(pause).toBeLessThanOrEqual(base * 1.2);
    }
  });

  it("AUT-A3 keepTrying goes on until it succeeds and tells each failure", async () => {
    vi.useFakeTimers();
    try {
      const told: number[] = [];
      let tries = 0;
      const work = async () => {
        if (++tries < 4) throw new Error("disk full");
        return "kept";
      };
      const done = keepTrying(work, { signal: new AbortController().signal, failed: (_error, failures) => told.push(failures) });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(await done).toBe("kept");
      expect(told).toEqual([1, 2, 3]);
    } finally {
      vi.useRealTimers();
    }
  });

  it("AUT-A3 an abort ends the pause with the last error and leaves no timer", async () => {
    const abort = new AbortController();
    const done = keepTrying(() => Promise.reject(new Error("away")), { signal: abort.signal, firstMs: 60_000, failed: () => abort.abort() });
    await expect(done).rejects.toThrow("away");
    await sleep(60_000, abort.signal);
  });
});
