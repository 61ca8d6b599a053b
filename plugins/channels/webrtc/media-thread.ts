import { Worker } from "node:worker_threads";
import type { Heard, Told } from "./protocol.ts";

/** Without a call for so long, the thread ends. */
const IDLE_MS = 5_000;
const MEMORY_MB = 256;
/** Packets are forgotten at once: without a bound this part of the heap grows to 48 MB before it is cleared. */
const YOUNG_MB = 4;

/** The thread that all calls run in, while there are any. */
export interface MediaThread {
  /** Starts it for the first call. `heard` is told what concerns the call until it has `ended`, also when the thread dies. */
  join(call: number, heard: (event: Heard) => void): void;
  tell(told: Told): void;
  leave(call: number): void;
  stop(): Promise<void>;
}

/** Nothing runs before the first call. */
export function createMediaThread(died: (reason: string) => void): MediaThread {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  const calls = new Map<number, (event: Heard) => void>();

  function start(): Worker {
    const resourceLimits = { maxOldGenerationSizeMb: MEMORY_MB, maxYoungGenerationSizeMb: YOUNG_MB };
    const made = new Worker(new URL("./worker.js", import.meta.url), { resourceLimits });
    const lost = (reason: string) => {
      if (worker !== made) return;
      worker = undefined;
      died(reason);
      for (const [call, heard] of [...calls]) {
        heard({ op: "state", call, state: "failed", reason: "the part of the daemon that takes calls has ended; call again" });
        heard({ op: "ended", call });
      }
    };
    made.on("message", (event: Heard) => calls.get(event.call)?.(event));
    made.on("error", (error) => lost(error instanceof Error ? error.message : String(error)));
    made.on("exit", (code) => lost(`its thread ended with code ${code}`));
    return made;
  }

  async function end(): Promise<void> {
    const dying = worker;
    worker = undefined;
    clearTimeout(idle);
    await dying?.terminate();
  }

  return {
    join(call, heard) {
      clearTimeout(idle);
      calls.set(call, heard);
      worker ??= start();
    },
    tell: (told) => worker?.postMessage(told),
    leave(call) {
      calls.delete(call);
      if (calls.size > 0 || worker === undefined) return;
      clearTimeout(idle);
      idle = setTimeout(() => void end(), IDLE_MS);
      idle.unref();
    },
    stop: end,
  };
}
