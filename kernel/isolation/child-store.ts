import type { Lease, Log, Store } from "@svc/sdk";
import { endingStore, workingStore } from "@svc/sdk/host";
import type { ChildCalls } from "./child-calls.ts";

/** `ctx.store` over the wire. Its workers run here, and ask the daemon for items. */
export function remoteStore(calls: ChildCalls, signal: AbortSignal, log: Pick<Log, "warn">): Store {
  const { ask } = calls;
  const store = workingStore({
    collection(name, { indexes } = {}) {
      const to = { name, ...(indexes === undefined ? {} : { indexes }) };
      return {
        get: (key) => ask("store.get", { ...to, key }),
        list: (query) => ask("store.list", { ...to, query }),
        count: (query) => ask("store.count", { ...to, query }),
        put: (key, value, expect) => ask("store.put", { ...to, key, value, expect }),
        delete: (key, expect) => ask("store.delete", { ...to, key, expect }),
      };
    },
    queue: (name) => ({
      push: (value, options) => ask("queue.push", { name, value, options }),
      claim: (limit, leaseMs) => ask("queue.claim", { name, limit, leaseMs }),
      complete: (id) => ask("queue.complete", { name, id }),
      release: (id, delayMs, value) => ask("queue.release", { name, id, delayMs, value }),
      extend: (id, attempt, leaseMs) => ask("queue.extend", { name, id, attempt, leaseMs }),
      nextDue: () => ask("queue.nextDue", { name }),
      size: (group) => ask("queue.size", { name, ...(group === undefined ? {} : { group }) }),
      list: (limit) => ask("queue.list", { name, limit }),
    }),
    journal: (name) => ({
      append: (value) => ask("journal.append", { name, value }),
      read: (after, limit) => ask("journal.read", { name, after, limit }),
      tail: (limit) => ask("journal.tail", { name, limit }),
      trim: (keep) => ask("journal.trim", { name, keep }),
    }),
    commit: (ops) => ask("store.commit", { ops }),
    lease: (name, ms) => remoteLease(calls, name, ms),
  });
  return endingStore(store, signal, log);
}

async function remoteLease({ ask, keep }: ChildCalls, name: string, ms: number): Promise<Lease> {
  const abort = new AbortController();
  const { n, forget } = keep((reason: string) => abort.abort(new Error(reason)));
  const { held, holder, reason } = await ask<{ held: boolean; holder?: string; reason?: string }>("store.lease", { n, name, ms });
  if (!held) {
    forget();
    abort.abort(new Error(reason));
  }
  return {
    held,
    ...(holder === undefined ? {} : { holder }),
    signal: abort.signal,
    async release() {
      forget();
      abort.abort(new Error("the lease was given back"));
      if (held) await ask("store.release", { n });
    },
  };
}
