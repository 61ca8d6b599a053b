import { setMaxListeners } from "node:events";
import { type Collection, type Doc, type Query, remove, type Store, type StoreDriver, type StoreScope } from "@svc/sdk";
import { workingStore } from "@svc/sdk/host";

/** Optional members of the state of an owner. */
type Optional = "note" | "scan" | "scanKeys" | "prune" | "keyBefore" | "fill";

/** The state of one owner, with every method that a driver may omit. */
export type ScopedStore = Store & Required<Pick<StoreScope, Optional>>;

/** The durable state of the daemon, of which each owner sees its own part: a driver with all optional methods filled in. */
export interface StateStore
  extends Required<Omit<StoreDriver, "scope" | "size" | "records" | "restore" | "nodes" | "tell" | "time" | "exchange" | "hints" | "work">>,
    Pick<StoreDriver, "nodes" | "tell" | "time" | "exchange" | "hints" | "work"> {
  scope(owner: string): ScopedStore;
  size(): { readonly used: number; readonly free: number };
}

/** Documents scanned in one step. */
const PAGE = 500;

/** Wraps the state of `driver`. Omitted members are implemented in pages with those that every store has. */
export function stateStore(driver: StoreDriver): StateStore {
  const scopes = new Map<string, ScopedStore>();
  const closed = new AbortController();
  // Each lease and each worker listens for as long as it lasts.
  setMaxListeners(0, closed.signal);
  const began = Date.now() - performance.now();
  return {
    scope(owner) {
      let scope = scopes.get(owner);
      if (scope === undefined) {
        scope = completed(driver.scope(owner), closed.signal);
        scopes.set(owner, scope);
      }
      return scope;
    },
    reclaim: async (node) => driver.reclaim?.(node),
    health: () => driver.health?.() ?? { ok: true },
    // A monotonic clock while the process runs; across a restart it depends on the wall clock.
    steady: driver.steady?.bind(driver) ?? (() => Math.floor(began + performance.now())),
    ...(driver.nodes === undefined ? {} : { nodes: driver.nodes.bind(driver) }),
    ...(driver.tell === undefined ? {} : { tell: driver.tell.bind(driver) }),
    ...(driver.time === undefined ? {} : { time: driver.time.bind(driver) }),
    ...(driver.exchange === undefined ? {} : { exchange: driver.exchange.bind(driver) }),
    ...(driver.hints === undefined ? {} : { hints: driver.hints }),
    ...(driver.work === undefined ? {} : { work: driver.work.bind(driver) }),
    onDrain: (listener) => driver.onDrain?.(listener),
    leaving: async () => driver.leaving?.(),
    onFailure: (listener) => driver.onFailure?.(listener) ?? (() => undefined),
    size: () => ({ used: 0, free: 0, ...driver.size?.() }),
    diskBytes: () => driver.diskBytes?.(),
    shrink: () => driver.shrink?.() ?? false,
    close: async () => {
      closed.abort(new Error("the store was closed"));
      await driver.close?.();
    },
  };
}

/** Adds the members that `scope` omits, implemented in pages. */
function completed(scope: StoreScope, closed: AbortSignal): ScopedStore {
  const working = workingStore(scope, closed);
  const all = (name: string) => scope.collection<Record<string, unknown>>(name);
  const scans = scope.scan !== undefined;
  const scanned: ScopedStore = {
    ...working,
    note: working.note ?? working.commit,
    // Without `scan`, a query over an indexed path scans the documents.
    collection: (name, { indexes = [] } = {}) => scope.collection(name, { indexes: indexes.filter((field) => scans || !field.includes(".")) }),
    fill: async (name, rows) => scope.fill?.(name, rows) ?? 0,
    async scan<T>(name: string, query: Parameters<ScopedStore["scan"]>[1]) {
      if (scope.scan !== undefined) return scope.scan<T>(name, query);
      const { where, below, limit } = query;
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
    async scanKeys(name, query) {
      if (scope.scanKeys !== undefined) return scope.scanKeys(name, query);
      const { docs, below } = await scanned.scan(name, query);
      return { keys: docs.map(({ key }) => key), ...(below === undefined ? {} : { below }) };
    },
    async prune(name, query) {
      if (scope.prune !== undefined) return scope.prune(name, query);
      const { from, below, spare, rows } = query;
      const gone: string[] = [];
      const range = { ...(from === undefined ? {} : { from }), ...(below === undefined ? {} : { to: below }) };
      for await (const { key, value } of each(all(name), range)) {
        if (value[spare.field] !== spare.value) gone.push(key);
        if (gone.length === rows) break;
      }
      if (gone.length > 0) await scope.commit(gone.map((key) => remove(name, key)));
      return gone.length;
    },
    async keyBefore(name, count) {
      if (scope.keyBefore !== undefined) return scope.keyBefore(name, count);
      let left = count;
      for await (const { key } of each(all(name), { reverse: true })) if ((left -= 1) < 0) return key;
      return undefined;
    },
  };
  return scanned;
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
