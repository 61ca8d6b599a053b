import type { Store } from "@svc/sdk";
import type { Ask } from "./child-calls.ts";

/** `ctx.store` over the wire. */
export function remoteStore(ask: Ask): Store {
  return {
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
      size: () => ask("queue.size", { name }),
      list: (limit) => ask("queue.list", { name, limit }),
    }),
    journal: (name) => ({
      append: (value) => ask("journal.append", { name, value }),
      read: (after, limit) => ask("journal.read", { name, after, limit }),
      tail: (limit) => ask("journal.tail", { name, limit }),
      trim: (keep) => ask("journal.trim", { name, keep }),
    }),
    commit: (ops) => ask("store.commit", { ops }),
  };
}
