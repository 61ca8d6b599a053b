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

/** The running work's root in a bus, and its roots in other buses of the process. */
interface Place {
  readonly bus: object;
  readonly root: Root;
  readonly others: ReadonlyMap<object, Root> | undefined;
}

/** One for all buses: on Node.js 20 each storage that was ever used makes every promise of the process dearer, for as long as the process lives. */
const storage = new AsyncLocalStorage<Place>();

/** Makes the bookkeeping of root events; the current one follows asynchronous calls (AsyncLocalStorage). */
export function createRoots(nextId: () => string): Roots {
  const bus = {};
  const reserved = new Set<string>();
  return {
    current() {
      const place = storage.getStore();
      return place === undefined || place.bus === bus ? place?.root : place.others?.get(bus);
    },
    within(root, work) {
      const place = storage.getStore();
      const others = place === undefined || place.bus === bus ? place?.others : new Map(place.others).set(place.bus, place.root);
      return storage.run({ bus, root, others }, work);
    },
    reserve() {
      const id = nextId();
      reserved.add(id);
      if (reserved.size > MOST_RESERVED) reserved.delete(reserved.values().next().value as string);
      return id;
    },
    take: (rootId) => reserved.size > 0 && reserved.delete(rootId),
  };
}
