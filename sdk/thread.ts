/* `@svc/sdk/thread`: for plugins whose work would hold the daemon's loop. */
import { Worker } from "node:worker_threads";

/** A worker thread's message for the request of that id: progress, then its result or failure. */
export type ThreadReply<Progress = never> =
  | { readonly id: number; readonly progress: Progress }
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failure: { readonly message: string; readonly code?: string } };

/** Main-thread proxy of a worker thread. The thread starts at the first request; a dead one is restarted at the next. */
export interface Thread<Ask extends { readonly op: string }, Answers extends Record<Ask["op"], unknown>, Progress = never> {
  /** Sends a request; `tell` receives its progress. Rejects with the error that `failed` creates from a failure, and when the thread dies or is stopped. */
  ask<K extends Ask["op"]>(ask: Extract<Ask, { op: K }>, tell?: (progress: Progress) => void): Promise<Answers[K]>;
  stop(): Promise<void>;
}

/** Options of a worker thread. */
export interface ThreadOptions {
  /** Its file: gets `{ ...ask, id }` on its parent port and answers with a `ThreadReply`. */
  readonly file: URL;
  /** Megabytes of JavaScript, after which it dies and the daemon does not; default that of Node. */
  readonly memoryMb?: number;
  /** The error of a question that failed, by the reason and, where the thread gave one, its code. */
  failed(reason: string, code?: string): Error;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
  readonly tell?: ((progress: never) => void) | undefined;
}

/** Makes a thread; the process may end while it waits for questions. */
export function createThread<Ask extends { readonly op: string }, Answers extends Record<Ask["op"], unknown>, Progress = never>({
  file,
  memoryMb,
  failed,
}: ThreadOptions): Thread<Ask, Answers, Progress> {
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
    const made = new Worker(file, memoryMb === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: memoryMb } });
    made.on("message", (reply: ThreadReply<never>) => {
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
        waiting.set(id, { resolve: resolve as (value: unknown) => void, reject, tell: tell as Waiting["tell"] });
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
