import { svcError } from "../errors.ts";
import type { Claimed, PushOptions } from "../store.ts";
import { jsonOf } from "./memory-json.ts";

interface Item {
  readonly id: string;
  json: string;
  readonly group?: string;
  /** The end of a delay or of a lease; 0 is at once. */
  due: number;
  /** Time at which `due` was set: if the clock went back before it since, the delay counts as over. */
  since: number;
  attempt: number;
  leased: boolean;
  redelivered: boolean;
}

interface Saved {
  readonly items: readonly Item[];
  readonly keys: ReadonlyMap<string, number>;
}

/** `Queue` in memory, by the clock of `Date.now`, with rollback for transactions. */
export interface MemoryQueue {
  push(value: unknown, options: PushOptions): string | undefined;
  claim<T>(limit: number, leaseMs: number): Claimed<T>[];
  /** False unless that attempt is the current one. */
  complete(id: string, attempt?: number): boolean;
  /** False unless that attempt is the current one. */
  release(id: string, delayMs: number, value?: unknown, attempt?: number): boolean;
  extend(id: string, attempt: number, leaseMs: number): boolean;
  nextDue(): number | undefined;
  size(group?: string): number;
  list<T>(limit?: number): (Claimed<T> & { readonly dueAt: number; readonly group?: string })[];
  save(): Saved;
  restore(saved: Saved | undefined): void;
}

const SEVEN_DAYS = 7 * 24 * 60 * 60 * 1000;

/** Makes a queue in memory with the semantics of the store's. */
export function createMemoryQueue(): MemoryQueue {
  let items: Item[] = [];
  let keys = new Map<string, number>();
  let pushed = 0;
  const claimed = <T>({ id, json, attempt, redelivered }: Item): Claimed<T> => ({ id, value: JSON.parse(json) as T, attempt, redelivered });
  const find = (id: string): Item | undefined => items.find((item) => item.id === id);
  const holds = (item: Item | undefined, attempt: number | undefined): boolean => attempt === undefined || (item?.leased === true && item.attempt === attempt);
  const isDue = (item: Item, now: number): boolean => item.due <= now || (!item.leased && item.since > now);
  /** Items that no earlier item of their group blocks. */
  const heads = (): Item[] => {
    const groups = new Set<string>();
    return items.filter(({ group }) => group === undefined || (!groups.has(group) && groups.add(group)));
  };
  const dueIn = (ms: number) => ({ due: ms > 0 ? Date.now() + ms : 0, since: Date.now() });
  return {
    push(value, { id = `item_${++pushed}`, group, delayMs = 0, dedupKey }) {
      const now = Date.now();
      const seen = dedupKey === undefined ? undefined : keys.get(dedupKey);
      if (seen !== undefined && now - seen <= SEVEN_DAYS) return undefined;
      if (find(id)) throw svcError("SVC_STORE_CONFLICT", `The queue already holds an item '${id}'.`, { status: 409 });
      const json = jsonOf(value, id);
      if (dedupKey !== undefined) keys.set(dedupKey, now);
      items.push({ id, json, ...dueIn(delayMs), attempt: 0, leased: false, redelivered: false, ...(group === undefined ? {} : { group }) });
      return id;
    },
    claim<T>(limit: number, leaseMs: number) {
      const now = Date.now();
      const out: Claimed<T>[] = [];
      for (const item of heads()) {
        if (out.length >= limit) break;
        if (!isDue(item, now)) continue;
        item.redelivered = item.leased;
        item.attempt += 1;
        item.leased = true;
        Object.assign(item, dueIn(leaseMs));
        out.push(claimed(item));
      }
      return out;
    },
    complete(id, attempt) {
      const item = find(id);
      if (!holds(item, attempt)) return false;
      items = items.filter((one) => one !== item);
      return true;
    },
    release(id, delayMs, value, attempt) {
      const item = find(id);
      if (!holds(item, attempt)) return false;
      if (item === undefined) return true;
      if (value !== undefined) item.json = jsonOf(value, id);
      Object.assign(item, dueIn(delayMs));
      item.leased = false;
      return true;
    },
    extend(id, attempt, leaseMs) {
      const item = find(id);
      if (item === undefined || !holds(item, attempt)) return false;
      Object.assign(item, dueIn(leaseMs));
      return true;
    },
    nextDue() {
      const now = Date.now();
      const waits = heads().map((item) => (isDue(item, now) ? 0 : item.due - now));
      return waits.length === 0 ? undefined : Math.min(...waits);
    },
    size: (group) => (group === undefined ? items : items.filter((item) => item.group === group)).length,
    list: <T>(limit = 100) =>
      items.slice(0, Math.max(0, Math.min(limit, 1000))).map((item) => ({
        ...claimed<T>(item),
        dueAt: item.due === 0 ? item.since : item.due,
        ...(item.group === undefined ? {} : { group: item.group }),
      })),
    save: () => structuredClone({ items, keys }),
    restore(saved) {
      items = [...(saved?.items ?? [])];
      keys = new Map(saved?.keys ?? []);
    },
  };
}
