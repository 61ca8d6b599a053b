import { type Collection, type Doc, type Query, remove, type Store, type StoreDriver } from "@svc/sdk";
import type { ScopedStore, StateStore } from "../core/boot/state-store.ts";

/** Documents looked at in one step. */
const PAGE = 500;

/** A store of the embedding program in the place of the database. What only the database can do in one statement is done in pages. */
export function driven(driver: StoreDriver): StateStore {
  const scopes = new Map<string, ScopedStore>();
  const began = Date.now() - performance.now();
  return {
    scope(owner) {
      let scope = scopes.get(owner);
      if (scope === undefined) {
        scope = widened(driver.scope(owner));
        scopes.set(owner, scope);
      }
      return scope;
    },
    reclaim: async () => driver.reclaim?.(),
    health: () => driver.health?.() ?? { ok: true },
    // Not set back by the wall clock while it runs; over a restart the wall clock is asked.
    steady: () => Math.floor(began + performance.now()),
    onFailure: (listener) => driver.onFailure?.(listener as (error: Error) => void) ?? (() => undefined),
    size: () => ({ used: driver.size?.().used ?? 0, free: 0 }),
    shrink: () => false,
    close: async () => driver.close?.(),
  };
}

function widened(store: Store): ScopedStore {
  const all = (name: string) => store.collection<Record<string, unknown>>(name);
  return {
    // Indexes over paths are the database's own; without them the documents are looked through.
    collection: (name, { indexes = [] } = {}) => store.collection(name, { indexes: indexes.filter((field) => !field.includes(".")) }),
    queue: (name) => store.queue(name),
    journal: (name) => store.journal(name),
    commit: (ops) => store.commit(ops),
    note: (ops) => store.commit(ops),
    fill: async () => 0,
    async scan<T>(name: string, { where, below, limit }: Parameters<ScopedStore["scan"]>[1]) {
      const page = await all(name).list({ reverse: true, limit: PAGE, ...(below === undefined ? {} : { to: below }) });
      const docs: Doc<T>[] = [];
      let last: string | undefined;
      for (const doc of page) {
        if (docs.length === limit) break;
        last = doc.key;
        if (Object.entries(where).every(([path, value]) => at(doc.value, path) === value)) docs.push(doc as Doc<T>);
      }
      const ended = page.length < PAGE && last === page.at(-1)?.key;
      return { docs, ...(ended || last === undefined ? {} : { below: last }) };
    },
    async prune(name, { from, below, spare, rows }) {
      const gone: string[] = [];
      const range = { ...(from === undefined ? {} : { from }), ...(below === undefined ? {} : { to: below }) };
      for await (const { key, value } of each(all(name), range)) {
        if (value[spare.field] !== spare.value) gone.push(key);
        if (gone.length === rows) break;
      }
      if (gone.length > 0) await store.commit(gone.map((key) => remove(name, key)));
      return gone.length;
    },
    async keyBefore(name, count) {
      let left = count;
      for await (const { key } of each(all(name), { reverse: true })) if ((left -= 1) < 0) return key;
      return undefined;
    },
  };
}

async function* each<T>(collection: Collection<T>, query: Query): AsyncGenerator<Doc<T>> {
  let after: string | undefined;
  for (;;) {
    const page = await collection.list({ ...query, limit: PAGE, ...(after === undefined ? {} : { after }) });
    yield* page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.key;
  }
}

const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((inner, key) => (typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[key] : undefined), value);
