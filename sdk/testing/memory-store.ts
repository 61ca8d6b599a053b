import { svcError } from "../errors.ts";
import type { Collection, Expect, Journal, Op, Store, StoredQueue } from "../store.ts";
import { workingStore } from "../working-store.ts";
import { indexName, jsonOf, storeName } from "./memory-json.ts";
import { select } from "./memory-query.ts";
import { createMemoryQueue, type MemoryQueue } from "./memory-queue.ts";

interface Stored {
  readonly json: string;
  readonly version: number;
}

interface Documents {
  readonly docs: Map<string, Stored>;
  readonly indexes: Set<string>;
}

interface Entries {
  last: number;
  list: { readonly seq: number; readonly at: number; readonly json: string }[];
}

/** The three primitives in memory, with the promises of `Store` except durability. Values are kept as JSON, as the real one does. */
export function createMemoryStore(): Store {
  const collections = new Map<string, Documents>();
  const queues = new Map<string, MemoryQueue>();
  const journals = new Map<string, Entries>();
  const docsOf = (name: string) => made(collections, storeName(name), (): Documents => ({ docs: new Map(), indexes: new Set() }));
  const queueOf = (name: string) => made(queues, storeName(name), createMemoryQueue);
  const journalOf = (name: string) => made(journals, storeName(name), (): Entries => ({ last: 0, list: [] }));

  const checked = (name: string, key: string, expect: Expect | undefined, index?: number): number => {
    const version = docsOf(name).docs.get(key)?.version ?? 0;
    if (expect === undefined || expect === version || (expect === "absent" && version === 0)) return version;
    throw conflict(`The stored state of ${name} '${key}' has changed meanwhile; read it again and repeat.`, index);
  };
  const put = (name: string, key: string, value: unknown): number => {
    const { docs } = docsOf(name);
    const version = (docs.get(key)?.version ?? 0) + 1;
    docs.set(key, { json: jsonOf(value, key), version });
    return version;
  };
  const append = (name: string, value: unknown): number => {
    const entries = journalOf(name);
    const json = jsonOf(value, name);
    entries.last += 1;
    entries.list.push({ seq: entries.last, at: Date.now(), json });
    return entries.last;
  };
  const apply = (op: Op, index: number): void => {
    if (op.op === "put") {
      checked(op.collection, op.key, op.expect, index);
      put(op.collection, op.key, op.value);
    } else if (op.op === "delete") {
      checked(op.collection, op.key, op.expect, index);
      docsOf(op.collection).docs.delete(op.key);
    } else if (op.op === "push") {
      const added = queueOf(op.queue).push(op.value, { ...op.options, id: op.id });
      if (added === undefined) throw conflict(`The dedup key '${op.options.dedupKey}' was seen before.`, index);
    } else if (op.op === "complete") {
      if (!queueOf(op.queue).complete(op.id, op.attempt)) throw notHeld(op, index);
    } else if (op.op === "release") {
      if (!queueOf(op.queue).release(op.id, op.delayMs, op.value, op.attempt)) throw notHeld(op, index);
    } else append(op.journal, op.value);
  };

  return workingStore({
    collection<T>(name: string, options: { readonly indexes?: readonly string[] } = {}): Collection<T> {
      const { docs, indexes } = docsOf(name);
      for (const index of options.indexes ?? []) indexes.add(indexName(name, index));
      const doc = (key: string, stored: Stored) => ({ key, value: JSON.parse(stored.json) as T, version: stored.version });
      const all = () => [...docs].map(([key, stored]) => doc(key, stored));
      return {
        async get(key) {
          const stored = docs.get(key);
          return stored && doc(key, stored);
        },
        list: async (query = {}) => select(name, all(), indexes, query),
        count: async (query = {}) => select(name, all(), indexes, { ...query, limit: Number.POSITIVE_INFINITY }).length,
        async put(key, value, expect) {
          checked(name, key, expect);
          return put(name, key, value);
        },
        async delete(key, expect) {
          checked(name, key, expect);
          docs.delete(key);
        },
      };
    },
    queue<T>(name: string): StoredQueue<T> {
      const queue = queueOf(name);
      return {
        push: async (value, options) => queue.push(value, options ?? {}),
        claim: async (limit, leaseMs) => queue.claim<T>(limit, leaseMs),
        complete: async (id) => void queue.complete(id),
        release: async (id, delayMs, value) => void queue.release(id, delayMs, value),
        extend: async (id, attempt, leaseMs) => queue.extend(id, attempt, leaseMs),
        nextDue: async () => queue.nextDue(),
        size: async (group) => queue.size(group),
        list: async (limit) => queue.list<T>(limit),
      };
    },
    journal<T>(name: string): Journal<T> {
      const entries = journalOf(name);
      const out = (list: Entries["list"]) => list.map(({ seq, at, json }) => ({ seq, at, value: JSON.parse(json) as T }));
      return {
        append: async (value) => append(name, value),
        read: async (after, limit = 100) => out(entries.list.filter(({ seq }) => seq > after).slice(0, Math.min(limit, 1000))),
        tail: async (limit) => out(limit > 0 ? entries.list.slice(-limit) : []),
        async trim(keep) {
          entries.list = keep > 0 ? entries.list.slice(-keep) : [];
        },
      };
    },
    async commit(ops) {
      const before = structuredClone({ collections, journals });
      const queued = new Map([...queues].map(([name, queue]) => [name, queue.save()]));
      try {
        for (const [index, op] of ops.entries()) apply(op, index);
      } catch (error) {
        // Handles given out hold the inner maps: their content is put back, not the maps.
        for (const [name, { docs }] of collections) refill(docs, before.collections.get(name)?.docs ?? new Map());
        for (const [name, entries] of journals) Object.assign(entries, before.journals.get(name) ?? { last: 0, list: [] });
        for (const [name, queue] of queues) queue.restore(queued.get(name));
        throw error;
      }
    },
  });
}

const conflict = (message: string, index?: number) => svcError("SVC_STORE_CONFLICT", message, { status: 409, ...(index === undefined ? {} : { index }) });

const notHeld = ({ id, attempt }: { readonly id: string; readonly attempt?: number }, index: number) =>
  conflict(`The item '${id}' is not held by attempt ${attempt} any more.`, index);

function made<T>(map: Map<string, T>, name: string, make: () => T): T {
  const found = map.get(name) ?? make();
  map.set(name, found);
  return found;
}

function refill<T>(map: Map<string, T>, content: Map<string, T>): void {
  map.clear();
  for (const [key, value] of content) map.set(key, value);
}
