import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { append, complete, push, put, remove } from "../store.ts";
import { createMemoryStore } from "./memory-store.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("grows a document's version with each put and refuses a stale one", async () => {
  const docs = createMemoryStore().collection<{ n: number }>("docs");
  expect(await docs.put("a", { n: 1 }, "absent")).toBe(1);
  expect(await docs.put("a", { n: 2 }, 1)).toBe(2);
  await expect(docs.put("a", { n: 3 }, 1)).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT" });
  await expect(docs.put("a", { n: 3 }, "absent")).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT" });
  expect(await docs.get("a")).toEqual({ key: "a", value: { n: 2 }, version: 2 });
});

it("hands out copies", async () => {
  const docs = createMemoryStore().collection<{ list: number[] }>("docs");
  const value = { list: [1] };
  await docs.put("a", value);
  value.list.push(2);
  (await docs.get("a"))?.value.list.push(3);
  expect((await docs.get("a"))?.value).toEqual({ list: [1] });
});

it("lists by key and by index, in pages, in both directions", async () => {
  const docs = createMemoryStore().collection<{ at: number; who: string }>("docs", { indexes: ["at", "who"] });
  for (const [key, at] of [
    ["a", 3],
    ["b", 1],
    ["c", 2],
    ["d", 1],
  ] as const)
    await docs.put(key, { at, who: key < "c" ? "x" : "y" });
  const keys = async (query: Parameters<typeof docs.list>[0]) => (await docs.list(query)).map(({ key }) => key).join("");
  expect(await keys({})).toBe("abcd");
  expect(await keys({ reverse: true, limit: 2 })).toBe("dc");
  expect(await keys({ by: "at" })).toBe("bdca");
  expect(await keys({ by: "at", after: "b", limit: 2 })).toBe("dc");
  expect(await keys({ by: "at", from: 2 })).toBe("ca");
  expect(await keys({ where: { who: "x" } })).toBe("ab");
  expect(await docs.count({ where: { who: "y" } })).toBe(2);
  await expect(docs.list({ by: "at", after: "gone" })).rejects.toMatchObject({ code: "SVC_STORE_CURSOR" });
  await expect(docs.list({ by: "nothing" })).rejects.toMatchObject({ code: "SVC_STORE_INDEX" });
});

it("holds an item back while an earlier one of its group is unfinished, and redelivers after the lease", async () => {
  const queue = createMemoryStore().queue<string>("q");
  await queue.push("one", { id: "1", group: "g" });
  await queue.push("two", { id: "2", group: "g" });
  await queue.push("three", { id: "3" });
  expect((await queue.claim(9, 1000)).map(({ id }) => id)).toEqual(["1", "3"]);
  expect(await queue.claim(9, 1000)).toEqual([]);
  vi.advanceTimersByTime(1001);
  expect(await queue.claim(1, 1000)).toEqual([{ id: "1", value: "one", attempt: 2, redelivered: true }]);
  await queue.complete("1");
  expect((await queue.claim(9, 1000)).map(({ id, redelivered }) => [id, redelivered])).toEqual([
    ["2", false],
    ["3", true],
  ]);
});

it("releases with a delay and a new value, and knows a dedup key for 7 days", async () => {
  const queue = createMemoryStore().queue<string>("q");
  expect(await queue.push("a", { id: "1", dedupKey: "k" })).toBe("1");
  expect(await queue.push("b", { dedupKey: "k" })).toBeUndefined();
  await queue.claim(1, 1000);
  await queue.release("1", 500, "again");
  expect(await queue.claim(1, 1000)).toEqual([]);
  vi.advanceTimersByTime(500);
  expect(await queue.claim(1, 1000)).toEqual([{ id: "1", value: "again", attempt: 2, redelivered: false }]);
  vi.advanceTimersByTime(7 * 24 * 3_600_000);
  expect(await queue.push("b", { id: "2", dedupKey: "k" })).toBe("2");
});

it("never reuses a journal's numbers", async () => {
  const journal = createMemoryStore().journal<string>("j");
  for (const word of ["a", "b", "c"]) await journal.append(word);
  expect((await journal.read(1)).map(({ seq, value }) => [seq, value])).toEqual([
    [2, "b"],
    [3, "c"],
  ]);
  expect((await journal.tail(1)).map(({ value }) => value)).toEqual(["c"]);
  await journal.trim(0);
  expect(await journal.read(0)).toEqual([]);
  expect(await journal.append("d")).toBe(4);
});

it("commits all operations or none, and names the one that failed", async () => {
  const store = createMemoryStore();
  const docs = store.collection<number>("docs");
  const queue = store.queue<number>("q");
  const journal = store.journal<number>("j");
  await docs.put("a", 1);
  await store.commit([put("docs", "a", 2, 1), push("q", "i", 1, { dedupKey: "k" }), append("j", 1)]);
  const failing = store.commit([put("docs", "b", 1), remove("docs", "a"), complete("q", "i"), append("j", 2), push("q", "x", 2, { dedupKey: "k" })]);
  await expect(failing).rejects.toMatchObject({ code: "SVC_STORE_CONFLICT", index: 4 });
  expect((await docs.list()).map(({ key, value }) => [key, value])).toEqual([["a", 2]]);
  expect(await queue.size()).toBe(1);
  expect((await journal.read(0)).map(({ value }) => value)).toEqual([1]);
});
