import assert from "node:assert/strict";
import { complete, put, release } from "../store.ts";
import type { Proof } from "./store-contract.ts";

const conflict = { code: "SVC_STORE_CONFLICT" };
const week = 7 * 86_400_000;

/** Cases of the queues of every store. */
export const queueCases: Readonly<Record<string, Proof>> = {
  "items are claimed oldest first, once, and gone when complete": async ({ store }) => {
    const work = store.queue<number>("work");
    const ids = [await work.push(1), await work.push(2), await work.push(3)];
    const claimed = await work.claim(2, 1000);
    assert.deepEqual(claimed, [
      { id: ids[0], value: 1, attempt: 1, redelivered: false },
      { id: ids[1], value: 2, attempt: 1, redelivered: false },
    ]);
    assert.deepEqual(
      (await work.claim(9, 1000)).map((item) => item.value),
      [3],
    );
    await work.complete(ids[0] as string);
    await work.complete("nobody");
    assert.equal(await work.size(), 2);
  },
  "a group goes one at a time, in order, and others pass it": async ({ store }) => {
    const work = store.queue<string>("work");
    await work.push("a1", { id: "a1", group: "a" });
    await work.push("a2", { id: "a2", group: "a" });
    await work.push("b1", { id: "b1", group: "b" });
    await work.push("a3", { id: "a3", group: "a" });
    const values = async () => (await work.claim(9, 1000)).map((item) => item.value).join();
    assert.equal(await values(), "a1,b1");
    assert.equal(await values(), "");
    // Taking one out of the middle lets nothing overtake.
    await work.complete("a2");
    assert.equal(await values(), "");
    await work.complete("a1");
    assert.equal(await values(), "a3");
    await work.release("a3", 0);
    await work.push("a4", { id: "a4", group: "a" });
    assert.equal(await values(), "a3");
    await work.complete("a3");
    assert.equal(await values(), "a4");
  },
  "a lease that ran out hands the item out again and says so": async ({ store, advance }) => {
    const work = store.queue<number>("work");
    const id = await work.push(1);
    await work.claim(1, 1000);
    advance(999);
    assert.deepEqual(await work.claim(1, 1000), []);
    advance(1);
    assert.deepEqual(await work.claim(1, 1000), [{ id, value: 1, attempt: 2, redelivered: true }]);
  },
  "what is given back waits its delay and is not redelivered; its value may change": async ({ store, advance }) => {
    const work = store.queue<number>("work");
    const id = (await work.push(1)) as string;
    await work.claim(1, 60_000);
    await work.release(id, 500, 2);
    assert.deepEqual(await work.claim(1, 1000), []);
    advance(500);
    assert.deepEqual(await work.claim(1, 1000), [{ id, value: 2, attempt: 2, redelivered: false }]);
    await work.release(id, 0);
    assert.deepEqual(
      (await work.claim(1, 1000)).map((item) => item.value),
      [2],
    );
  },
  "a delayed push waits and holds its group back": async ({ store, advance }) => {
    const work = store.queue<string>("work");
    await work.push("later", { group: "g", delayMs: 100 });
    await work.push("behind", { group: "g" });
    await work.push("free");
    assert.deepEqual(
      (await work.claim(9, 10_000)).map((item) => item.value),
      ["free"],
    );
    advance(100);
    assert.deepEqual(
      (await work.claim(9, 10_000)).map((item) => item.value),
      ["later"],
    );
  },
  "nextDue tells when a claim may find something": async ({ store, advance }) => {
    const work = store.queue<string>("work");
    assert.equal(await work.nextDue(), undefined);
    await work.push("oldest", { id: "oldest", delayMs: 5_000 });
    await work.push("sooner", { id: "sooner", delayMs: 1_000, group: "g" });
    await work.push("held back by it", { group: "g" });
    assert.equal(await work.nextDue(), 1_000);
    advance(400);
    assert.equal(await work.nextDue(), 600);
    advance(600);
    assert.equal(await work.nextDue(), 0);
    assert.equal((await work.claim(9, 3_000)).length, 1);
    assert.equal(await work.nextDue(), 3_000);
    await work.release("sooner", 500);
    assert.equal(await work.nextDue(), 500);
    await work.complete("sooner");
    assert.equal(await work.nextDue(), 0);
  },
  "a lease is extended for the attempt that has it, also when it ran out and nobody else took the item": async ({ store, advance }) => {
    const work = store.queue<number>("work");
    await work.push(1, { id: "a" });
    assert.equal(await work.extend("a", 1, 1_000), false);
    await work.claim(1, 1_000);
    advance(999);
    assert.equal(await work.extend("a", 1, 1_000), true);
    advance(999);
    assert.deepEqual(await work.claim(1, 1_000), []);
    advance(50_000);
    assert.equal(await work.extend("a", 1, 1_000), true);
    assert.deepEqual(await work.claim(1, 1_000), []);
    assert.equal(await work.extend("a", 2, 60_000), false);
    advance(1_000);
    assert.equal((await work.claim(1, 1_000))[0]?.attempt, 2);
    assert.equal(await work.extend("a", 1, 60_000), false);
    assert.equal(await work.nextDue(), 1_000);
    await work.release("a", 0);
    assert.equal(await work.extend("a", 2, 60_000), false);
    await work.claim(1, 1_000);
    await work.complete("a");
    assert.equal(await work.extend("a", 3, 60_000), false);
    assert.equal(await work.extend("nobody", 1, 60_000), false);
  },
  "a release in a commit gives the item back with what was done, or neither where another attempt has it": async ({ store, advance }) => {
    const work = store.queue<unknown>("work");
    const runs = store.collection<number>("runs");
    await work.push("one", { id: "a", group: "g" });
    await work.push("two", { id: "b", group: "g" });
    await work.claim(1, 1_000);
    await store.commit([put("runs", "r", 1), release("work", "a", { delayMs: 500, attempt: 1, value: { step: 2 } })]);
    assert.deepEqual(await work.claim(9, 1_000), []);
    advance(500);
    assert.deepEqual(await work.claim(9, 1_000), [{ id: "a", value: { step: 2 }, attempt: 2, redelivered: false }]);
    for (const attempt of [1, 3])
      await assert.rejects(store.commit([put("runs", "r", 2), release("work", "a", { delayMs: 0, attempt })]), { ...conflict, index: 1 });
    advance(1_000);
    assert.equal((await work.claim(9, 1_000))[0]?.attempt, 3);
    await assert.rejects(store.commit([put("runs", "r", 2), release("work", "a", { delayMs: 0, attempt: 2 })]), conflict);
    assert.equal((await runs.get("r"))?.value, 1);
    await store.commit([release("work", "a", { delayMs: 0, attempt: 3 })]);
    await assert.rejects(store.commit([complete("work", "a", 3)]), conflict);
    await assert.rejects(store.commit([release("work", "a", { delayMs: 0, attempt: 3 })]), conflict);
    await store.commit([release("work", "a", { delayMs: 700 }), release("work", "nobody", { delayMs: 0 })]);
    assert.equal(await work.nextDue(), 700);
    assert.equal(await work.size(), 2);
  },
  "a clock set back delays no item beyond its own delay": async ({ store, advance, turn }) => {
    const work = store.queue<string>("work");
    await work.push("fresh");
    await work.push("delayed", { delayMs: 1000 });
    turn(-2 * 86_400_000);
    advance(1000);
    assert.deepEqual(
      (await work.claim(9, 1000)).map((item) => item.value),
      ["fresh", "delayed"],
    );
    assert.deepEqual(await work.claim(9, 1000), []);
  },
  "a dedup key counts for 7 days, also when its item is long done": async ({ store, advance }) => {
    const work = store.queue<number>("work");
    const first = (await work.push(1, { dedupKey: "d" })) as string;
    await work.complete(first);
    assert.equal(await work.push(2, { dedupKey: "d" }), undefined);
    assert.equal(await work.size(), 0);
    advance(week);
    assert.equal(await work.push(2, { dedupKey: "d" }), undefined);
    advance(1);
    assert.notEqual(await work.push(2, { dedupKey: "d" }), undefined);
    assert.equal(await work.push(3, { dedupKey: "d" }), undefined);
  },
  "an id in use is a conflict and leaves no dedup key behind": async ({ store }) => {
    const work = store.queue<number>("work");
    assert.equal(await work.push(1, { id: "a" }), "a");
    await assert.rejects(work.push(2, { id: "a", dedupKey: "d" }), conflict);
    assert.equal(await work.push(3, { id: "b", dedupKey: "d" }), "b");
  },
  "a list shows what is unfinished, claimed or not": async ({ store, advance }) => {
    const work = store.queue<number>("work");
    await work.push(1, { id: "a", group: "g" });
    await work.push(2, { id: "b", delayMs: 500 });
    await work.claim(1, 200);
    advance(200);
    await work.claim(1, 200);
    const [a, b] = await work.list();
    assert.ok(a && b);
    assert.deepEqual({ ...a, dueAt: 0 }, { id: "a", value: 1, attempt: 2, redelivered: true, group: "g", dueAt: 0 });
    assert.deepEqual({ ...b, dueAt: 0 }, { id: "b", value: 2, attempt: 0, redelivered: false, dueAt: 0 });
    assert.equal(a.dueAt - b.dueAt, -100);
    assert.equal((await work.list(1)).length, 1);
  },
};
