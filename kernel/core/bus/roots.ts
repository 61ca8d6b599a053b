import { AsyncLocalStorage } from "node:async_hooks";

/** The root that work belongs to, and the event that caused it. */
export interface Root {
  readonly rootId: string;
  readonly parentId?: string;
}

/** Root event of the running work. Survives awaits, timers and promises; a queue must carry it and use `within`. */
export interface Roots {
  current(): Root | undefined;
  within<T>(root: Root, work: () => T): T;
  /** A new root id. The first event published under it gets it as its own id, so that a root id names an event. */
  reserve(): string;
  /** True once for a reserved id. */
  take(rootId: string): boolean;
}

/** Entries that are announced late or never must not pile up: an older reservation is forgotten, its root id stays valid. */
const MOST_RESERVED = 1_024;

/** Makes the bookkeeping of root events; the current one follows asynchronous calls (AsyncLocalStorage). */
export function createRoots(nextId: () => string): Roots {
  const storage = new AsyncLocalStorage<Root>();
  const reserved = new Set<string>();
  return {
    current: () => storage.getStore(),
    within: (root, work) => storage.run(root, work),
    reserve() {
      const id = nextId();
      reserved.add(id);
      if (reserved.size > MOST_RESERVED) reserved.delete(reserved.values().next().value as string);
      return id;
    },
    take: (rootId) => reserved.size > 0 && reserved.delete(rootId),
  };
}
