import type { Args } from "./frames.ts";
import type { RpcPeer } from "./peer.ts";

/** Calls the daemon; resolves with its answer. */
export type Ask = <T>(on: string, args: Args, signal?: AbortSignal) => Promise<T>;

/** The ways from the plugin's context to the daemon and back. */
export interface ChildCalls {
  readonly ask: Ask;
  notify(on: string, args: Args): void;
  /** Keeps a function of the plugin that the daemon will call by its number. */
  keep(run: (value: never) => unknown): { readonly n: number; readonly forget: () => void };
  /** Calls a callback by its number; a removed one returns undefined. */
  callBack(args: Args): unknown;
}

/** Maximum number of concurrent calls to the daemon; more wait here. Calls that last as long as a task do not count. */
const SIDE_BY_SIDE = 128;
const LASTING: ReadonlySet<string> = new Set(["tasks.run", "tasks.result"]);

/** Calls over the wire of this process. */
export function createChildCalls(peer: RpcPeer): ChildCalls {
  const functions = new Map<number, (value: never) => unknown>();
  const waiting: (() => void)[] = [];
  let last = 0;
  let under = 0;
  return {
    notify(on, args) {
      if (!peer.notify(on, args)) process.stderr.write(`svc: '${on}' was too large to be sent\n`);
    },
    async ask<T>(on: string, args: Args, signal?: AbortSignal): Promise<T> {
      if (LASTING.has(on)) return (await peer.call(on, args, signal)) as T;
      if (under >= SIDE_BY_SIDE) await new Promise<void>((resolve) => waiting.push(resolve));
      under += 1;
      try {
        return (await peer.call(on, args, signal)) as T;
      } finally {
        under -= 1;
        waiting.shift()?.();
      }
    },
    keep(run) {
      const n = (last += 1);
      functions.set(n, run);
      return { n, forget: () => void functions.delete(n) };
    },
    callBack: (args) => functions.get(args.n as number)?.(args.value as never),
  };
}
