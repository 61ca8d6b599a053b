import type { Warm } from "../processes.ts";

/** A pool without limits: an entry stays until it ends by itself or is taken out. */
export function createMemoryWarm(): Warm {
  const idle = new Map<string, { readonly thing: unknown; readonly stop: () => Promise<void> }>();
  const taken = new Set<string>();
  return {
    has: (key) => idle.has(key) || taken.has(key),
    take<T>(key: string): T | undefined {
      const kept = idle.get(key);
      if (kept === undefined) return undefined;
      idle.delete(key);
      taken.add(key);
      return kept.thing as T;
    },
    keep(key, thing, stop, ended) {
      void idle.get(key)?.stop();
      taken.delete(key);
      const kept = { thing, stop };
      idle.set(key, kept);
      void ended.then(() => idle.get(key) === kept && idle.delete(key));
    },
    drop: (key) => void taken.delete(key),
  };
}
