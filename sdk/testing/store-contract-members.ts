import assert from "node:assert/strict";
import { append, complete, push, put } from "../store.ts";
import type { StoreScope } from "../store-driver.ts";
import type { Proof } from "./store-contract.ts";

/** Optional members of an owner's scope. */
export type StoreMember = "note" | "scan" | "scanKeys" | "prune" | "keyBefore" | "fill";

type Whole = StoreScope & Required<Pick<StoreScope, StoreMember>>;
type MemberProof = (store: Whole) => Promise<void>;

/** Filled before its indexes over paths are declared: `fill` has something to do. */
async function traces(store: Whole, count = 1_200) {
  const before = store.collection<object>("traces", { indexes: ["agent", "status"] });
  await before.count();
  const document = (n: number) => ({ agent: n % 3 === 0 ? "a" : "b", status: n === 2 ? "open" : "done", inbound: { channel: `c${n % 7}` } });
  for (let from = 0; from < count; from += 400)
    await store.commit(Array.from({ length: Math.min(400, count - from) }, (_, at) => put("traces", keyOf(from + at), document(from + at))));
  return store.collection<object>("traces", { indexes: ["agent", "status", "inbound.channel"] });
}

const keyOf = (n: number) => `k${String(n).padStart(5, "0")}`;

async function scanned(store: Whole, where: Readonly<Record<string, string | number>>, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let below: string | undefined, steps = 0; ; steps += 1) {
    assert.ok(steps < 5_000, "the scan does not come to an end");
    const page = await store.scan<object>("traces", { where, limit, ...(below === undefined ? {} : { below }) });
    assert.ok(page.docs.length <= limit, "a step answers more than was asked for");
    found.push(...page.docs.map(({ key }) => key));
    if (page.below === undefined) return found;
    below = page.below;
  }
}

const wanted = (holds: (n: number) => boolean, count = 1_200) =>
  Array.from({ length: count }, (_, n) => count - 1 - n)
    .filter(holds)
    .map(keyOf);

const CASES: Readonly<Record<StoreMember, Readonly<Record<string, MemberProof>>>> = {
  note: {
    "is read at once, is all or nothing, and keeps its place among the commits": async (store) => {
      const tasks = store.collection<number>("tasks");
      await store.note([put("tasks", "a", 1), push("work", "w", 1), append("log", 1)]);
      assert.equal((await tasks.get("a"))?.value, 1);
      assert.equal(await store.queue("work").size(), 1);
      await assert.rejects(store.note([put("tasks", "a", 2), put("tasks", "a", 3, "absent")]), { code: "SVC_STORE_CONFLICT", index: 1 });
      assert.equal((await tasks.get("a"))?.version, 1);
      await Promise.all([store.commit([append("log", 2)]), store.note([append("log", 3), complete("work", "w")]), store.commit([append("log", 4)])]);
      assert.deepEqual(
        (await store.journal("log").read(0)).map(({ value }) => value),
        [1, 2, 3, 4],
      );
      assert.equal(await store.queue("work").size(), 0);
    },
  },
  scan: {
    "goes by fields and paths, from the last key to the first, in steps of any size": async (store) => {
      await traces(store);
      const both = wanted((n) => n % 3 === 0 && n % 7 === 0);
      for (const limit of [1, 10, 1_000]) assert.deepEqual(await scanned(store, { agent: "a", "inbound.channel": "c0" }, limit), both);
      assert.deepEqual(await scanned(store, { status: "open" }, 10), [keyOf(2)]);
      assert.deepEqual(await scanned(store, { status: "never" }, 10), []);
      assert.deepEqual(
        await scanned(store, {}, 500),
        wanted(() => true),
      );
    },
    "answers documents as they are stored": async (store) => {
      const docs = await traces(store, 10);
      await docs.put(keyOf(9), { agent: "z", inbound: { channel: "c9" } });
      const page = await store.scan("traces", { where: { "inbound.channel": "c9" }, limit: 5 });
      assert.deepEqual(page.docs, [{ key: keyOf(9), value: { agent: "z", inbound: { channel: "c9" } }, version: 2 }]);
    },
    "begins below a key": async (store) => {
      await traces(store, 30);
      const { docs } = await store.scan("traces", { where: { agent: "a" }, below: keyOf(6), limit: 10 });
      assert.deepEqual(
        docs.map(({ key }) => key),
        [keyOf(3), keyOf(0)],
      );
    },
  },
  scanKeys: {
    "finds what a scan finds": async (store) => {
      await traces(store);
      const both = wanted((n) => n % 3 === 0 && n % 7 === 0);
      for (const limit of [1, 10, 10_000]) {
        const found: string[] = [];
        for (let below: string | undefined, steps = 0; ; steps += 1) {
          assert.ok(steps < 5_000, "the scan does not come to an end");
          const step = await store.scanKeys("traces", { where: { agent: "a", "inbound.channel": "c0" }, limit, ...(below === undefined ? {} : { below }) });
          assert.ok(step.keys.length <= limit, "a step answers more than was asked for");
          found.push(...step.keys);
          if (step.below === undefined) break;
          below = step.below;
        }
        assert.deepEqual(found, both);
      }
    },
  },
  prune: {
    "takes the first ones but those that are spared, a few at a time": async (store) => {
      const docs = await traces(store);
      let gone = 0;
      for (;;) {
        const count = await store.prune("traces", { below: keyOf(1_000), spare: { field: "status", value: "open" }, rows: 400 });
        assert.ok(count <= 400);
        gone += count;
        if (count === 0) break;
      }
      assert.equal(gone, 999);
      assert.deepEqual(
        (await docs.list({ limit: 2 })).map(({ key }) => key),
        [keyOf(2), keyOf(1_000)],
      );
    },
    "begins at a key, and spares who has another value or none": async (store) => {
      const docs = await traces(store, 20);
      await docs.put(keyOf(15), { agent: "none" });
      const range = { from: keyOf(10), below: keyOf(18) };
      assert.equal(await store.prune("traces", { ...range, spare: { field: "status", value: "done" }, rows: 100 }), 1);
      assert.equal(await docs.count(), 19);
      assert.equal(await store.prune("traces", { ...range, spare: { field: "status", value: "open" }, rows: 3 }), 3);
      assert.deepEqual(
        (await docs.list({ from: keyOf(9), limit: 3 })).map(({ key }) => key),
        [keyOf(9), keyOf(13), keyOf(14)],
      );
    },
  },
  keyBefore: {
    "names the key that has so many later ones": async (store) => {
      await traces(store);
      assert.equal(await store.keyBefore("traces", 0), keyOf(1_199));
      assert.equal(await store.keyBefore("traces", 1_000), keyOf(199));
      assert.equal(await store.keyBefore("traces", 1_199), keyOf(0));
      assert.equal(await store.keyBefore("traces", 1_200), undefined);
      store.collection("empty");
      assert.equal(await store.keyBefore("empty", 0), undefined);
    },
  },
  fill: {
    "comes to an end step by step, and changes what a scan finds in nothing": async (store) => {
      const docs = await traces(store);
      const both = wanted((n) => n % 3 === 0 && n % 7 === 0);
      let filled = 0;
      for (let steps = 0; ; steps += 1) {
        assert.ok(steps < 100, "the filling does not come to an end");
        const count = await store.fill("traces", 500);
        assert.ok(count <= 500);
        filled += count;
        assert.deepEqual(await scanned(store, { agent: "a", "inbound.channel": "c0" }, 100), both);
        if (count === 0) break;
        if (steps === 0) await docs.put(keyOf(1_200), { agent: "b", inbound: { channel: "c0" } });
      }
      assert.ok(filled === 0 || filled === 1_200, `${filled} documents of 1200 were filled`);
      assert.equal(await store.fill("traces", 500), 0);
      assert.equal((await docs.get(keyOf(7)))?.version, 1);
    },
  },
};

/** Cases of the members that a driver has; missing ones must be declared in `lacks`. */
export function memberCases(lacks: readonly StoreMember[]): Readonly<Record<string, Proof>> {
  const members = Object.keys(CASES) as StoreMember[];
  const cases: Record<string, Proof> = {
    "those that it has are those that it is said to have": async ({ store }) => {
      assert.deepEqual(
        members.filter((member) => store[member] === undefined),
        members.filter((member) => lacks.includes(member)),
      );
    },
  };
  for (const member of members.filter((one) => !lacks.includes(one)))
    for (const [name, proof] of Object.entries(CASES[member])) cases[`${member} ${name}`] = ({ store }) => proof(store as Whole);
  return cases;
}
