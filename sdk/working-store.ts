import { reasonOf } from "./errors.ts";
import type { Log } from "./plugin.ts";
import { workQueue } from "./queue-work.ts";
import type { Lease, Op, Queue, QueueWork, Store } from "./store.ts";
import type { StoreScope } from "./store-driver.ts";
import { linked, onAbort } from "./time.ts";

/** One owner's part of a store, with workers and leases. */
export type WorkingScope = Store & Pick<StoreScope, "note">;

/**
 * Adds the driver-independent parts to a driver's store of one owner: queue workers, which wake at writes through this store, and leases, granted
 * where the driver has none. Leases end when `closed` aborts.
 */
export function workingStore(store: StoreScope, closed?: AbortSignal): WorkingScope {
  const workers = new Map<string, Set<QueueWork>>();

  function wake(queues: Iterable<string>): void {
    for (const queue of new Set(queues)) for (const worker of workers.get(queue) ?? []) worker.wake();
  }
  /** Without a worker, a write has no overhead. */
  function waking<R>(written: Promise<R>, queues: () => Iterable<string>): Promise<R> {
    if (workers.size === 0) return written;
    return written.then((answer) => {
      wake(queues());
      return answer;
    });
  }
  const queuesOf = (ops: readonly Op[]) => ops.flatMap((op) => ("queue" in op ? [op.queue] : []));
  const commit = (ops: readonly Op[]) => waking(store.commit(ops), () => queuesOf(ops));

  function queue<T>(name: string): Queue<T> {
    const stored = store.queue<T>(name);
    const here = () => [name];
    const own: Queue<T> = {
      push: (value, options) => waking(stored.push(value, options), here),
      claim: (limit, leaseMs) => stored.claim(limit, leaseMs),
      complete: (id) => waking(stored.complete(id), here),
      release: (id, delayMs, value) => waking(stored.release(id, delayMs, value), here),
      extend: (id, attempt, leaseMs) => stored.extend(id, attempt, leaseMs),
      nextDue: () => stored.nextDue(),
      size: (group) => stored.size(group),
      list: (limit) => stored.list(limit),
      work(handler, options) {
        const others = workers.get(name) ?? new Set();
        workers.set(name, others);
        const worker = workQueue(name, own, commit, handler, {
          ...options,
          ended() {
            others.delete(worker);
            if (others.size === 0) workers.delete(name);
          },
        });
        others.add(worker);
        return worker;
      },
    };
    return own;
  }

  async function lease(name: string, ms: number): Promise<Lease> {
    return endingLease((await store.lease?.(name, ms)) ?? granted(), closed);
  }

  const { note } = store;
  return {
    ...(store.shared === undefined ? {} : { shared: store.shared }),
    collection: (name, options) => store.collection(name, options),
    queue,
    journal: (name) => store.journal(name),
    commit,
    lease,
    ...(note === undefined ? {} : { note: (ops) => waking(note.call(store, ops), () => queuesOf(ops)) }),
  };
}

/** Wraps the store of one plugin: its workers stop and its leases are released when `signal` aborts. Failures of a worker are logged. */
export function endingStore(store: Store, signal: AbortSignal, log: Pick<Log, "warn">): Store {
  return {
    ...(store.shared === undefined ? {} : { shared: store.shared }),
    collection: (name, options) => store.collection(name, options),
    journal: (name) => store.journal(name),
    commit: (ops) => store.commit(ops),
    queue<T>(name: string): Queue<T> {
      const queue = store.queue<T>(name);
      return {
        ...queue,
        work(handler, options) {
          const worker = queue.work(handler, {
            failed: (error, item, pauseMs) =>
              log.warn(
                { queue: name, pauseMs, ...(item === undefined ? {} : { item: item.id, attempt: item.attempt }) },
                `work on the queue '${name}' failed and is tried again: ${reasonOf(error)}`,
              ),
            ...options,
          });
          onAbort(signal, () => void worker.stop());
          return worker;
        },
      };
    },
    lease: async (name, ms) => endingLease(await store.lease(name, ms), signal),
  };
}

/** A granted lease of a store that one daemon uses alone; each has a signal of its own, since holders add listeners to it for as long as they hold it. */
const granted = (): Lease => ({ held: true, signal: new AbortController().signal, release: async () => {} });

/** A lease that ends with `until`, too. */
function endingLease(lease: Lease, until: AbortSignal | undefined): Lease {
  const own = linked(lease.signal, until);
  onAbort(own.signal, () => {
    own.release();
    // The plugin is ending: no caller is left to receive an error.
    if (until?.aborted) lease.release().catch(() => {});
  });
  return {
    held: lease.held && !own.signal.aborted,
    ...(lease.holder === undefined ? {} : { holder: lease.holder }),
    signal: own.signal,
    release() {
      own.abort(new Error("the lease was given back"));
      return lease.release();
    },
  };
}
