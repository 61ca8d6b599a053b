import { Worker } from "node:worker_threads";
import { svcError } from "@svc/sdk";
import type { Answers, Ask, Progress, Reply } from "./code-protocol.ts";

/** The thread that reads code, seen from the main one. It starts at the first question; one that died starts again at the next. */
export interface CodeThread {
  /** Rejects with `SVC_CODE_FAILED`. */
  ask<K extends Ask["op"]>(ask: Extract<Ask, { op: K }>, tell?: (progress: Progress) => void): Promise<Answers[K]>;
  stop(): Promise<void>;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  readonly tell?: ((progress: Progress) => void) | undefined;
}

/** Of JavaScript in the thread. */
const MEMORY_MB = 1_024;

/** Makes the thread. */
export function createCodeThread(): CodeThread {
  let worker: Worker | undefined;
  let ids = 0;
  const waiting = new Map<number, Waiting>();
  const lost = (dead: Worker, reason: string) => {
    if (worker !== dead) return;
    worker = undefined;
    for (const { reject } of waiting.values()) reject(failed(reason));
    waiting.clear();
  };
  const start = (): Worker => {
    const made = new Worker(new URL("./worker.js", import.meta.url), { resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB } });
    made.on("message", (reply: Reply) => {
      const asked = waiting.get(reply.id);
      if ("progress" in reply) return asked?.tell?.(reply.progress);
      waiting.delete(reply.id);
      if ("failure" in reply) asked?.reject(failed(reply.failure.message, reply.failure.code));
      else asked?.resolve(reply.value);
    });
    made.on("error", (error) => lost(made, error.message));
    made.on("exit", (code) => lost(made, `its thread ended with code ${code}`));
    // Last: listening to it would hold the process again.
    made.unref();
    return made;
  };
  return {
    ask: (ask, tell) =>
      new Promise((resolve, reject) => {
        worker ??= start();
        const id = ++ids;
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, tell });
        worker.postMessage({ ...ask, id });
      }),
    async stop() {
      const dying = worker;
      if (dying === undefined) return;
      lost(dying, "the plugin was stopped");
      await dying.terminate();
    },
  };
}

const failed = (reason: string, cause?: string) =>
  svcError("SVC_CODE_FAILED", `The code index failed: ${reason}. Build it again with: svc agent index <id>`, {
    status: 500,
    ...(cause === undefined ? {} : { reason: cause }),
  });
