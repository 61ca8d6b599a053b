import { expect, it, vi } from "vitest";
import { linked, onAbort, sleep, withTimeout } from "./time.ts";

const never = new Promise<never>(() => {});

it("sleeps no longer than its signal lives, and keeps nothing of it", async () => {
  const { signal } = new AbortController();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  await sleep(1, signal);
  expect([added.mock.calls.length, removed.mock.calls.length]).toEqual([1, 1]);
  await sleep(60_000, AbortSignal.abort());
  const later = new AbortController();
  const asleep = sleep(Number.POSITIVE_INFINITY, later.signal);
  later.abort();
  await asleep;
});

it("settles as the work does, and with `late` after the time or at the signal", async () => {
  expect(await withTimeout(Promise.resolve(1), 60_000, () => 2)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error("no")), 60_000, () => 2)).rejects.toThrow("no");
  expect(await withTimeout(never, 1, () => 2)).toBe(2);
  const refuse = () => {
    throw new Error("late");
  };
  await expect(withTimeout(never, 1, refuse)).rejects.toThrow("late");
  await expect(withTimeout(never, Number.POSITIVE_INFINITY, refuse, AbortSignal.abort())).rejects.toThrow("late");
});

it("calls back once with the reason of an abort, and not after it was taken back", () => {
  const abort = new AbortController();
  const [heard, taken] = [vi.fn(), vi.fn()];
  onAbort(abort.signal, heard);
  onAbort(abort.signal, taken)();
  abort.abort("why");
  onAbort(abort.signal, heard);
  onAbort(undefined, heard)();
  expect(heard.mock.calls).toEqual([["why"], ["why"]]);
  expect(taken).not.toHaveBeenCalled();
});

it("a linked signal aborts with the first of the others until it is released", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const both = linked(one.signal, undefined, two.signal);
  two.abort("two");
  one.abort("one");
  expect(both.signal.reason).toBe("two");
  const other = new AbortController();
  const free = linked(other.signal);
  free.release();
  other.abort();
  expect(free.signal.aborted).toBe(false);
  free.abort("own");
  expect(free.signal.reason).toBe("own");
  expect(linked(other.signal).signal.aborted).toBe(true);
});
