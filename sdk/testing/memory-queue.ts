import { svcError } from "../errors.ts";
import type { Claimed, PushOptions } from "../store.ts";

interface Item {
  readonly id: string;
  json: string;
  readonly group?: string;
  dueAt: number;
  attempt: number;
  leasedUntil: number;
}

interface Saved {
  readonly items: readonly Item[];
  readonly keys: ReadonlyMap<string, number>;
}

/** `Queue` in memory, by the clock of `Date.now`, and what a transaction needs to take its changes back. */
export interface MemoryQueue {
  push(value: unknown, options: PushOptions): string | undefined;
  claim<T>(limit: number, leaseMs: number): Claimed<T>[];
  complete(id: string): void;
  release(id: string, delayMs: number, value?: unknown): void;
  size(): number;
  list<T>(limit?: number): (Claimed<T> & { readonly dueAt: number; readonly group?: string })[];
  save(): Saved;
  restore(saved: Saved | undefined): void;
}

const SEVEN_DAYS = 7 * 24 * 60 * 60 * 1000;

export function createMemoryQueue(): MemoryQueue {
  let items: Item[] = [];
  let keys = new Map<string, number>();
  let pushed = 0;
  const claimed = <T>(item: Item, redelivered: boolean): Claimed<T> => ({ id: item.id, value: JSON.parse(item.json) as T, attempt: item.attempt, redelivered });
  const find = (id: string): Item | undefined => items.find((item) => item.id === id);
  return {
    push(value, { id = `item_${++pushed}`, group, delayMs = 0, dedupKey }) {
      const now = Date.now();
      if (dedupKey !== undefined) {
        const seen = keys.get(dedupKey);
        if (seen !== undefined && now - seen < SEVEN_DAYS) return undefined;
        keys.set(dedupKey, now);
      }
      if (find(id)) throw svcError("SVC_STORE_CONFLICT", `The queue already holds an item '${id}'.`, { status: 409 });
      items.push({ id, json: JSON.stringify(value), dueAt: now + delayMs, attempt: 0, leasedUntil: 0, ...(group === undefined ? {} : { group }) });
      return id;
    },
    claim<T>(limit: number, leaseMs: number) {
      const now = Date.now();
      const groups = new Set<string>();
      const out: Claimed<T>[] = [];
      for (const item of items) {
        if (out.length === limit) break;
        if (item.group !== undefined) {
          if (groups.has(item.group)) continue;
          groups.add(item.group);
        }
        if (item.dueAt > now || item.leasedUntil > now) continue;
        const redelivered = item.leasedUntil > 0;
        item.attempt += 1;
        item.leasedUntil = now + leaseMs;
        out.push(claimed(item, redelivered));
      }
      return out;
    },
    complete(id) {
      items = items.filter((item) => item.id !== id);
    },
    release(id, delayMs, value) {
      const item = find(id);
      if (!item) return;
      item.dueAt = Date.now() + delayMs;
      item.leasedUntil = 0;
      if (value !== undefined) item.json = JSON.stringify(value);
    },
    size: () => items.length,
    list: <T>(limit = 100) =>
      items.slice(0, limit).map((item) => ({ ...claimed<T>(item, false), dueAt: item.dueAt, ...(item.group === undefined ? {} : { group: item.group }) })),
    save: () => structuredClone({ items, keys }),
    restore(saved) {
      items = [...(saved?.items ?? [])];
      keys = new Map(saved?.keys ?? []);
    },
  };
}
