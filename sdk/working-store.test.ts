import { expect, it, vi } from "vitest";
import type { Lease } from "./store.ts";
import { createMemoryStore } from "./testing/memory-store.ts";
import { endingStore, workingStore } from "./working-store.ts";

it("the workers of a plugin end with it, what they had is due, and its leases are given back", async () => {
  const plugin = new AbortController();
  const released = vi.fn(async () => {});
  const lease = async (): Promise<Lease> => ({ held: true, signal: new AbortController().signal, release: released });
  const shared = workingStore({ ...createMemoryStore(), lease });
  const store = endingStore(shared, plugin.signal, { warn: () => {} });
  const queue = store.queue<string>("work");
  const seen: [string, AbortSignal][] = [];
  queue.work(({ value }, signal) => {
    seen.push([value, signal]);
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  });
  await queue.push("x");
  await vi.waitFor(() => expect(seen).toHaveLength(1));
  const held = await store.lease("leader", 1_000);
  plugin.abort(new Error("it ends"));
  expect(seen[0]?.[1].aborted).toBe(true);
  expect([held.signal.reason.message, released.mock.calls.length]).toEqual(["it ends", 1]);
  await vi.waitFor(async () => expect(await queue.nextDue()).toBe(0));
  await queue.push("y");
  expect(seen).toHaveLength(1);
  // What comes after it in the same place, such as the plugin set up anew, takes over.
  const next: string[] = [];
  const worker = shared.queue<string>("work").work(({ value }) => void next.push(value));
  await vi.waitFor(() => expect(next).toEqual(["x", "y"]));
  await worker.stop();
});

it("what a worker could not do is logged, once for each try, unless it asks to be told itself", async () => {
  const lines: [object | string, string | undefined][] = [];
  const log = { warn: (facts: object | string, text?: string) => void lines.push([facts, text]) };
  const store = endingStore(createMemoryStore(), new AbortController().signal, log);
  const queue = store.queue<string>("work");
  await queue.push("x", { id: "x" });
  const worker = queue.work(
    () => {
      throw new Error("the far end is away");
    },
    { retryMs: 60_000 },
  );
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  expect(lines[0]).toEqual([
    { queue: "work", pauseMs: expect.any(Number), item: "x", attempt: 1 },
    "work on the queue 'work' failed and is tried again: the far end is away",
  ]);
  await worker.stop();
  const told = vi.fn();
  await store.queue<string>("other").push("y");
  const quiet = store.queue<string>("other").work(() => Promise.reject(new Error("no")), { failed: told });
  await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1));
  await quiet.stop();
  expect(lines).toHaveLength(1);
});

it("a store that cannot be read is asked again, with growing pauses", async () => {
  let broken = 3;
  const store = createMemoryStore();
  const failing = workingStore({
    ...store,
    queue: <T>(name: string) => ({
      ...store.queue<T>(name),
      claim: async (limit: number, leaseMs: number) => {
        if (broken-- > 0) throw new Error("busy");
        return store.queue<T>(name).claim(limit, leaseMs);
      },
    }),
  });
  const pauses: number[] = [];
  const done: unknown[] = [];
  await failing.queue("work").push("x");
  const worker = failing.queue("work").work(({ value }) => void done.push(value), { failed: (_error, item, pauseMs) => item ?? pauses.push(pauseMs) });
  await vi.waitFor(() => expect(done).toEqual(["x"]), { timeout: 20_000 });
  expect(pauses.map((ms) => Math.floor(ms / 100))).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)]);
  expect(pauses).toEqual(pauses.toSorted((left, right) => left - right));
  await worker.stop();
});
