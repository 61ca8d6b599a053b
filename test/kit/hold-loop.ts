import type { TortureCase } from "@svc/sdk/testing";

/** Holds a loop: for who watches it as `for (;;);` does, but it leaves the processor to others. */
export const HOLD = "for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);";

/** The bad plugin, which holds the loop in that way if it spins. */
export const holding = (one: TortureCase): TortureCase => ({ ...one, source: one.source.replace("for (;;);", HOLD) });
