import assert from "node:assert/strict";
import { append, complete, push, put, remove, type Store } from "../store.ts";
import type { StoreScope } from "../store-driver.ts";
import type { Runner } from "./runner.ts";
import { memberCases, type StoreMember } from "./store-contract-members.ts";
import { queueCases } from "./store-contract-queue.ts";
import { leaseCases, workCases } from "./store-contract-work.ts";

/** A fresh, empty store under a clock of the test's own. */
export interface StoreFixture {
  readonly store: StoreScope;
  /** Another owner's part of the same state. */
  readonly neighbour: StoreScope;
  /** Ends the leases of this node as its next start does; omitted if the driver has no `reclaim`. */
  reclaim?(): Promise<void>;
  /** Lets that much time pass. */
  advance(ms: number): void;
  /** Sets the wall clock, while no time passes. */
  turn(ms: number): void;
  close(): Promise<void>;
}

/** Holds one sentence to a store. */
export type Proof = (fixture: StoreFixture) => Promise<void>;

const conflict = { code: "SVC_STORE_CONFLICT" };

interface Task {
  readonly agent?: string;
  readonly at?: number;
  readonly done?: boolean;
}

const COLLECTION: Readonly<Record<string, Proof>> = {
  "a put answers the version, which starts at 1 and grows by one": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    assert.equal(await tasks.get("a"), undefined);
    assert.equal(await tasks.put("a", { at: 1 }), 1);
    assert.equal(await tasks.put("a", { at: 2 }), 2);
    assert.deepEqual(await tasks.get("a"), { key: "a", value: { at: 2 }, version: 2 });
  },
  "an expected version or absence must hold": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    assert.equal(await tasks.put("a", { at: 1 }, "absent"), 1);
    await assert.rejects(tasks.put("a", { at: 2 }, "absent"), conflict);
    assert.equal(await tasks.put("a", { at: 3 }, 1), 2);
    await assert.rejects(tasks.put("a", { at: 4 }, 1), conflict);
    await assert.rejects(tasks.put("b", { at: 4 }, 1), conflict);
    await assert.rejects(tasks.delete("a", 1), conflict);
    await assert.rejects(tasks.delete("a", "absent"), conflict);
    assert.deepEqual((await tasks.get("a"))?.value, { at: 3 });
    await tasks.delete("a", 2);
    await tasks.delete("a");
    await tasks.delete("a", "absent");
    assert.equal(await tasks.get("a"), undefined);
  },
  "what is stored is what the value was at the call": async ({ store }) => {
    const tasks = store.collection<{ at: number }>("tasks");
    const value = { at: 1 };
    const written = tasks.put("a", value);
    value.at = 2;
    await written;
    assert.deepEqual((await tasks.get("a"))?.value, { at: 1 });
  },
  "a value without JSON is refused and nothing else is": async ({ store }) => {
    const tasks = store.collection<unknown>("tasks");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const good = tasks.put("good", null);
    await assert.rejects(tasks.put("a", circle), { code: "SVC_STORE_VALUE" });
    await assert.rejects(tasks.put("a", undefined), { code: "SVC_STORE_VALUE" });
    assert.equal(await good, 1);
    assert.deepEqual(await tasks.get("good"), { key: "good", value: null, version: 1 });
  },
  "a list goes by key, page by page, either way": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    await Promise.all(["c", "a", "e", "b", "d"].map((key) => tasks.put(key, {})));
    const keys = async (query: Parameters<typeof tasks.list>[0]) => (await tasks.list(query)).map((found) => found.key).join("");
    assert.equal(await keys({}), "abcde");
    assert.equal(await keys({ reverse: true, limit: 2 }), "ed");
    assert.equal(await keys({ reverse: true, limit: 2, after: "d" }), "cb");
    assert.equal(await keys({ after: "bb" }), "cde");
    assert.equal(await keys({ from: "b", to: "d" }), "bc");
    assert.equal(await tasks.count({ from: "b" }), 4);
    assert.equal(await keys({ limit: 0 }), "");
  },
  "a list has 100 documents unless told, and never more than 1000": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    await store.commit(Array.from({ length: 1100 }, (_, index) => put("tasks", `k${index}`, {})));
    assert.equal((await tasks.list()).length, 100);
    assert.equal((await tasks.list({ limit: 5000 })).length, 1000);
    assert.equal((await tasks.list({ limit: -1 })).length, 0);
    assert.equal(await tasks.count(), 1100);
  },
  "declared indexes select, order and page": async ({ store }) => {
    const tasks = store.collection<Task>("tasks", { indexes: ["agent", "at"] });
    await tasks.put("a", { agent: "x", at: 3 });
    await tasks.put("b", { agent: "y", at: 1 });
    await tasks.put("c", { agent: "x", at: 1 });
    await tasks.put("d", { agent: "x" });
    await tasks.put("e", { agent: "y", at: 10 });
    const keys = async (query: Parameters<typeof tasks.list>[0]) => (await tasks.list(query)).map((found) => found.key).join("");
    assert.equal(await keys({ where: { agent: "x" } }), "acd");
    assert.equal(await keys({ where: { agent: "x", at: 1 } }), "c");
    assert.equal(await keys({ where: { at: null } }), "d");
    assert.equal(await keys({ by: "at" }), "bcae");
    assert.equal(await keys({ by: "at", reverse: true, limit: 2 }), "ea");
    assert.equal(await keys({ by: "at", reverse: true, after: "a" }), "cb");
    assert.equal(await keys({ by: "at", after: "b" }), "cae");
    assert.equal(await keys({ by: "at", from: 3, to: 10 }), "a");
    assert.equal(await keys({ by: "at", where: { agent: "x" } }), "ca");
    assert.equal(await tasks.count({ where: { agent: "x" } }), 3);
    assert.equal(await tasks.count({ by: "at", from: 3 }), 2);
    await tasks.put("a", { agent: "y", at: 0 });
    assert.equal(await keys({ by: "at", where: { agent: "y" } }), "abe");
    await tasks.delete("b");
    assert.equal(await keys({ where: { agent: "y" } }), "ae");
    await assert.rejects(tasks.list({ by: "at", after: "b" }), { code: "SVC_STORE_CURSOR" });
    await assert.rejects(tasks.list({ where: { done: 1 } }), { code: "SVC_STORE_INDEX" });
    await assert.rejects(tasks.list({ by: "agent; --" }), { code: "SVC_STORE_INDEX" });
  },
  "an index declared later knows the documents from before": async ({ store }) => {
    const before = store.collection<Task>("tasks", { indexes: ["at"] });
    await before.put("a", { agent: "x", at: 1, done: true });
    const early = before.put("b", { agent: "y", at: 2 });
    const after = store.collection<Task>("tasks", { indexes: ["at", "agent", "done"] });
    await early;
    await after.put("c", { agent: "x", at: 3 });
    assert.deepEqual(
      (await after.list({ where: { agent: "x" } })).map((found) => found.key),
      ["a", "c"],
    );
    assert.deepEqual(
      (await after.list({ by: "agent" })).map((found) => found.key),
      ["a", "c", "b"],
    );
    // Neither string nor number: not indexed.
    assert.equal(await after.count({ by: "done" }), 0);
  },
  "names are private to their owner, and checked": async ({ store, neighbour }) => {
    await store.collection("tasks").put("a", 1);
    await store.commit([push("tasks", "a", 1), append("tasks", 1)]);
    assert.equal(await neighbour.collection("tasks").get("a"), undefined);
    assert.equal(await neighbour.queue("tasks").size(), 0);
    assert.deepEqual(await neighbour.journal("tasks").read(0), []);
    for (const name of ["", "Tasks", "../tasks", 'a"b', "/a"]) {
      await assert.rejects(async () => store.collection(name).get("a"), { code: "SVC_STORE_NAME" });
      await assert.rejects(store.commit([put(name, "a", 1)]), { code: "SVC_STORE_NAME" });
    }
    await assert.rejects(async () => store.collection("tasks", { indexes: ["a b"] }).get("a"), { code: "SVC_STORE_NAME" });
  },
};

const JOURNAL: Readonly<Record<string, Proof>> = {
  "entries are numbered from 1 and read in order": async ({ store, advance }) => {
    const log = store.journal<string>("log");
    assert.deepEqual(await Promise.all([log.append("a"), log.append("b")]), [1, 2]);
    advance(5);
    assert.equal(await log.append("c"), 3);
    const all = await log.read(0);
    assert.deepEqual(
      all.map((entry) => entry.value),
      ["a", "b", "c"],
    );
    assert.equal((all[2]?.at ?? 0) - (all[0]?.at ?? 0), 5);
    assert.deepEqual(
      (await log.read(1, 1)).map((entry) => entry.seq),
      [2],
    );
    assert.deepEqual(
      (await log.tail(2)).map((entry) => entry.value),
      ["b", "c"],
    );
  },
  "a trim keeps the newest and gives no number twice": async ({ store }) => {
    const log = store.journal<number>("log");
    for (let index = 1; index <= 5; index += 1) await log.append(index);
    await log.trim(2);
    assert.deepEqual(
      (await log.read(0)).map((entry) => entry.seq),
      [4, 5],
    );
    await log.trim(9);
    assert.equal((await log.read(0)).length, 2);
    await log.trim(0);
    assert.deepEqual(await log.read(0), []);
    assert.equal(await log.append(6), 6);
  },
};

const COMMIT: Readonly<Record<string, Proof>> = {
  "a commit is all or nothing and names the op that failed": async ({ store }) => {
    await store.commit([put("tasks", "a", { at: 1 }), push("work", "w", 1, { dedupKey: "d" }), append("log", "x")]);
    const refused: [number, Parameters<Store["commit"]>[0]][] = [
      [1, [append("log", "y"), put("tasks", "a", { at: 2 }, "absent")]],
      [2, [put("tasks", "b", {}), append("log", "y"), push("work", "w2", 1, { dedupKey: "d" })]],
      [2, [put("tasks", "b", {}), complete("work", "w"), remove("tasks", "a", 7)]],
    ];
    for (const [index, ops] of refused) await assert.rejects(store.commit(ops), { ...conflict, index });
    assert.equal(await store.collection("tasks").get("b"), undefined);
    assert.deepEqual((await store.collection("tasks").get("a"))?.value, { at: 1 });
    assert.equal((await store.journal("log").read(0)).length, 1);
    assert.equal(await store.queue("work").size(), 1);
    await store.commit([complete("work", "w"), remove("tasks", "a", 1), push("work", "w3", 1)]);
    assert.deepEqual(
      (await store.queue("work").list()).map((item) => item.id),
      ["w3"],
    );
    assert.equal(await store.collection("tasks").get("a"), undefined);
    await store.commit([]);
  },
  "the end of an item and the start of the next are one": async ({ store }) => {
    const work = store.queue<string>("work");
    await work.push("first", { id: "n1", group: "run" });
    const [first] = await work.claim(9, 1000);
    assert.ok(first);
    await store.commit([complete("work", "n1", first.attempt), put("runs", "run", { at: 1 }), push("work", "n2", "second", { group: "run" })]);
    assert.deepEqual(await work.claim(9, 1000), [{ id: "n2", value: "second", attempt: 1, redelivered: false }]);
    assert.equal(await work.size(), 1);
    await work.push("apart", { id: "n3" });
    assert.deepEqual([await work.size(), await work.size("run"), await work.size("other")], [2, 1, 0]);
  },
  "only the attempt under way completes an item, where one is named": async ({ store, advance }) => {
    const work = store.queue<string>("work");
    await work.push("node", { id: "n1" });
    const done = (attempt: number) => store.commit([put("runs", "run", { attempt }), complete("work", "n1", attempt)]);
    await assert.rejects(done(0), { ...conflict, index: 1 });
    await work.claim(1, 1000);
    advance(1000);
    await work.claim(1, 1000);
    await assert.rejects(done(1), { ...conflict, index: 1 });
    assert.equal(await store.collection("runs").get("run"), undefined);
    await work.release("n1", 0);
    await assert.rejects(done(2), conflict);
    await work.claim(1, 1000);
    await done(3);
    await assert.rejects(done(3), conflict);
    assert.deepEqual((await store.collection("runs").get("run"))?.value, { attempt: 3 });
    assert.equal(await work.size(), 0);
  },
  "one caller's conflict leaves the others of its tick alone": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    const outcomes = await Promise.allSettled([
      tasks.put("a", { at: 1 }, "absent"),
      store.commit([put("tasks", "b", {}), put("tasks", "a", {}, "absent")]),
      tasks.put("a", { at: 2 }, 1),
      store.commit([put("tasks", "c", {})]),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ["fulfilled", "rejected", "fulfilled", "fulfilled"],
    );
    assert.deepEqual(
      (await tasks.list()).map((found) => found.key),
      ["a", "c"],
    );
  },
  "writes apply in the order of the calls": async ({ store }) => {
    const tasks = store.collection<Task>("tasks");
    const log = store.journal<number>("log");
    const order: number[] = [];
    const writes = Array.from({ length: 500 }, (_, index) => {
      const written = index % 2 === 0 ? log.append(index) : store.commit([append("log", index), put("tasks", "last", { at: index })]);
      return written.then(() => order.push(index));
    });
    await Promise.all(writes);
    assert.deepEqual(
      order,
      [...order].sort((left, right) => left - right),
    );
    assert.deepEqual(
      (await log.read(0, 1000)).map((entry) => entry.value),
      order,
    );
    assert.deepEqual(await tasks.get("last"), { key: "last", value: { at: 499 }, version: 250 });
  },
};

const RECLAIM: Readonly<Record<string, Proof>> = {
  "ends the leases that a dead process left, and no delay": async ({ store, reclaim }) => {
    const work = store.queue<number>("work");
    for (const id of ["leased", "released", "delayed"]) await work.push(1, { id, delayMs: id === "delayed" ? 5_000 : 0 });
    await work.claim(2, 3_600_000);
    await work.release("released", 5_000);
    await reclaim?.();
    assert.deepEqual(await work.claim(9, 1_000), [{ id: "leased", value: 1, attempt: 2, redelivered: true }]);
    await assert.rejects(store.commit([complete("work", "leased", 1)]), conflict);
    assert.equal(await work.extend("leased", 1, 1_000), false);
  },
};

/** Options of the store contract. */
export interface StoreContractOptions {
  /** Members of `StoreScope` that the store does not have; `reclaim` of the driver. Default: it has all. */
  readonly lacks?: readonly (StoreMember | "reclaim")[];
}

/** Contract suite of every store, each case on a fresh one: `storeContract({ describe, it }, open)`. */
export function storeContract(runner: Runner, open: () => Promise<StoreFixture>, { lacks = [] }: StoreContractOptions = {}): void {
  const members = memberCases(lacks.filter((one) => one !== "reclaim"));
  const reclaim = lacks.includes("reclaim") ? {} : RECLAIM;
  const parts = { collection: COLLECTION, queue: queueCases, journal: JOURNAL, commit: COMMIT, work: workCases, lease: leaseCases, members, reclaim };
  for (const [part, cases] of Object.entries(parts)) {
    for (const [name, proof] of Object.entries(cases)) {
      runner.it(`${part}: ${name}`, async () => {
        const fixture = await open();
        try {
          await proof(fixture);
        } finally {
          await fixture.close();
        }
      });
    }
  }
}
