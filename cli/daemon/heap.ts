import { setFlagsFromString } from "node:v8";

/**
 * Keeps the memory of a busy daemon small. Old objects may double before they are collected; by default V8 waits until there are four times
 * as many, which a daemon with 20 MB of live objects reaches within seconds of work and then keeps. The space of young objects stays as large
 * as the start has made it, 8 MB, in place of 32. Set while the process runs: any option of V8 on the command line makes Node leave its
 * compiled code unused, and a start takes a tenth longer. To be called once it has started, where much is made that stays.
 */
export function keepHeapSmall(): void {
  setFlagsFromString("--heap-growing-percent=100");
  keepYoungSpace();
  // The heap of a thread that begins sets this back for all of them.
  process.on("worker", (worker) => worker.once("online", keepYoungSpace));
}

const keepYoungSpace = (): void => setFlagsFromString("--semi-space-growth-factor=1");
