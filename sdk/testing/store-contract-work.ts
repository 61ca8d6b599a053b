import assert from "node:assert/strict";
import { append, type Claimed, complete, put, release, type Store } from "../store.ts";
import { workingStore } from "../working-store.ts";
import type { Proof, StoreFixture } from "./store-contract.ts";

/** Timeout for events that come by themselves. */
const PATIENCE_MS = 20_000;

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < end, `${what} did not happen within ${PATIENCE_MS} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A handler whose runs a test ends one by one. */
function heldHandler() {
  const runs: { readonly item: Claimed<unknown>; readonly signal: AbortSignal; end(error?: Error): void }[] = [];
  const handler = (item: Claimed<unknown>, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      runs.push({ item, signal, end: (error) => (error === undefined ? resolve() : reject(error)) });
    });
  return { runs, handler, values: () => runs.map(({ item }) => item.value).join() };
}

/** Counts the calls of `claim` and `extend` on its queues. */
function counted(fixture: StoreFixture): { readonly store: Store; readonly claims: () => number; readonly extensions: () => number } {
  let claims = 0;
  let extensions = 0;
  const store = workingStore({
    ...fixture.store,
    queue<T>(name: string) {
      const queue = fixture.store.queue<T>(name);
      return {
        ...queue,
        claim(limit, leaseMs) {
          claims += 1;
          return queue.claim(limit, leaseMs);
        },
        extend(id, attempt, leaseMs) {
          extensions += 1;
          return queue.extend(id, attempt, leaseMs);
        },
      };
    },
  });
  return { store, claims: () => claims, extensions: () => extensions };
}

/** Cases of workers on the queues of every store. */
export const workCases: Readonly<Record<string, Proof>> = {
  "it takes what is there and what is pushed, in order within a group, and completes it": async (fixture) => {
    const { store } = counted(fixture);
    const queue = store.queue<unknown>("work");
    const log = store.journal<unknown>("log");
    await queue.push("a1", { group: "a" });
    const worker = queue.work(async ({ value }) => void (await log.append(value)), { parallel: 3 });
    await Promise.all([queue.push("a2", { group: "a" }), queue.push("a3", { group: "a" })]);
    await store.commit([{ op: "push", queue: "work", id: "a4", value: "a4", options: { group: "a" } }]);
    await until("the end of the work", async () => (await queue.size()) === 0);
    assert.deepEqual(
      (await log.read(0)).map(({ value }) => value),
      ["a1", "a2", "a3", "a4"],
    );
    await worker.stop();
  },
  "it does not ask while nothing is due, and takes what came due": async (fixture) => {
    const { store, claims } = counted(fixture);
    const { runs, handler } = heldHandler();
    const queue = store.queue<unknown>("work");
    await queue.push("later", { delayMs: 30_000 });
    const worker = queue.work(handler);
    await until("the first look", () => claims() === 1);
    await store.queue("other").push(1);
    await store.commit([append("log", 1)]);
    for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setTimeout(resolve, 2));
    assert.equal(claims(), 1);
    fixture.advance(30_000);
    worker.wake();
    await until("its run", () => runs.length === 1);
    runs[0]?.end();
    await until("its end", async () => (await queue.size()) === 0);
    await worker.stop();
  },
  "a delay ends by itself": async ({ store }) => {
    const queue = workingStore(store).queue<number>("work");
    await queue.push(1, { delayMs: 0 });
    const seen: number[] = [];
    const worker = queue.work(({ value }) => void seen.push(value));
    await queue.push(2);
    await until("both", () => seen.length === 2);
    await worker.stop();
  },
  "a lease is renewed as long as its handler runs": async (fixture) => {
    const { store, extensions } = counted(fixture);
    const { runs, handler } = heldHandler();
    const queue = store.queue<unknown>("work");
    await queue.push("long");
    const worker = queue.work(handler, { leaseMs: 60 });
    await until("its run", () => runs.length === 1);
    for (let round = 1; round <= 5; round += 1) {
      fixture.advance(50);
      const before = extensions();
      // The second one has begun after the time passed.
      await until("a renewal", () => extensions() >= before + 2);
      assert.deepEqual(await queue.claim(1, 60), []);
    }
    assert.equal(runs[0]?.signal.aborted, false);
    runs[0]?.end();
    await until("its end", async () => (await queue.size()) === 0);
    await worker.stop();
    assert.equal(runs.length, 1);
  },
  "what throws is asked again, after a pause that doubles with each attempt": async ({ store, advance }) => {
    const queue = workingStore(store).queue<string>("work");
    const told: [unknown, string | undefined, number][] = [];
    const attempts: number[] = [];
    await queue.push("x", { id: "x" });
    const worker = queue.work(
      ({ attempt }) => {
        attempts.push(attempt);
        if (attempt < 4) throw new Error(`failed ${attempt}`);
      },
      { retryMs: 100_000, failed: (error, item, pauseMs) => told.push([(error as Error).message, item?.id, pauseMs]) },
    );
    for (const failures of [1, 2, 3]) {
      const pause = 100_000 * 2 ** (failures - 1);
      await until("the pause", async () => ((await queue.nextDue()) ?? 0) >= pause && told.length === failures);
      assert.ok(((await queue.nextDue()) ?? 0) <= 1.2 * pause);
      assert.deepEqual(told.at(-1)?.slice(0, 2), [`failed ${failures}`, "x"]);
      advance(1.2 * pause);
      worker.wake();
    }
    await until("its end", async () => (await queue.size()) === 0);
    assert.deepEqual(attempts, [1, 2, 3, 4]);
    await worker.stop();
  },
  "a worker that overran its lease is told, and neither completes nor gives back what another has": async ({ store, advance }) => {
    const queue = workingStore(store).queue<unknown>("work");
    for (const failure of [undefined, new Error("too late")]) {
      const { runs, handler } = heldHandler();
      await queue.push("x", { id: "x" });
      // The first renewal comes after 20 s: advancing the clock before it simulates a stalled process.
      const worker = queue.work(handler, { leaseMs: 60_000 });
      await until("its run", () => runs.length === 1);
      advance(60_000);
      const [again] = await queue.claim(1, 60_000);
      assert.equal(again?.attempt, 2);
      runs[0]?.end(failure);
      await worker.stop();
      assert.equal(await queue.size(), 1);
      assert.equal(await queue.nextDue(), 60_000);
      await queue.complete("x");
    }
    const { runs, handler } = heldHandler();
    await queue.push("y", { id: "y" });
    const worker = queue.work(handler, { leaseMs: 300 });
    await until("its run", () => runs.length === 1);
    await queue.release("y", 60_000);
    await until("the abort", () => runs[0]?.signal.aborted === true);
    runs[0]?.end();
    await worker.stop();
    assert.equal(await queue.nextDue(), 60_000);
  },
  "a worker that was held up renews what it has before it takes more": async (fixture) => {
    const { store } = counted(fixture);
    const { runs, handler } = heldHandler();
    const queue = store.queue<unknown>("work");
    await queue.push("x");
    const worker = queue.work(handler, { leaseMs: 40, parallel: 2 });
    await until("its run", () => runs.length === 1);
    fixture.advance(60_000);
    const blocked = performance.now() + 80;
    while (performance.now() < blocked);
    worker.wake();
    await queue.push("y");
    await until("the other", () => runs.length === 2);
    assert.deepEqual(
      runs.map(({ item, signal }) => [item.value, item.attempt, signal.aborted]),
      [
        ["x", 1, false],
        ["y", 1, false],
      ],
    );
    for (const run of runs) run.end();
    await until("their end", async () => (await queue.size()) === 0);
    await worker.stop();
  },
  "at most so many run side by side, of a group one": async ({ store }) => {
    const queue = workingStore(store).queue<unknown>("work");
    const { runs, handler, values } = heldHandler();
    for (const value of ["a1", "a2", "b1", "c1", "c2"]) await queue.push(value, { group: value.slice(0, 1) });
    const worker = queue.work(handler, { parallel: 2 });
    await until("two runs", () => runs.length === 2);
    worker.wake();
    await queue.push("d1");
    assert.equal(values(), "a1,b1");
    runs[1]?.end();
    await until("a third run", () => runs.length === 3);
    assert.equal(values(), "a1,b1,c1");
    runs[0]?.end();
    await until("a fourth run", () => runs.length === 4);
    assert.equal(values(), "a1,b1,c1,a2");
    for (let at = 2; at < 6; at += 1) {
      await until("its run", () => runs.length > at);
      runs[at]?.end();
    }
    await until("their end", async () => (await queue.size()) === 0);
    await worker.stop();
  },
  "a handler completes its item, or gives it back, in a commit with what it did": async ({ store: given }) => {
    const store = workingStore(given);
    const queue = store.queue<{ readonly step: number }>("work");
    const steps = store.collection<number>("steps");
    await queue.push({ step: 1 }, { id: "run", group: "g" });
    await queue.push({ step: 9 }, { id: "next", group: "g" });
    const worker = queue.work(async ({ id, value, attempt }) => {
      const done = put("steps", `${id}/${value.step}`, attempt, "absent");
      if (value.step === 1) await store.commit([done, release("work", id, { delayMs: 0, attempt, value: { step: 2 } })]);
      else await store.commit([done, complete("work", id, attempt)]);
    });
    await until("their end", async () => (await queue.size()) === 0);
    await worker.stop();
    assert.deepEqual(
      (await steps.list()).map(({ key, value }) => [key, value]),
      [
        ["next/9", 1],
        ["run/1", 1],
        ["run/2", 2],
      ],
    );
  },
  "what was claimed while it stopped is given back without a run": async ({ store: given }) => {
    let claimed = false;
    let answer = (): void => {};
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const store = workingStore({
      ...given,
      queue<T>(name: string) {
        const queue = given.queue<T>(name);
        const claim: typeof queue.claim = async (...asked) => {
          const items = await queue.claim(...asked);
          claimed = items.length > 0;
          await gate;
          return items;
        };
        return { ...queue, claim };
      },
    });
    const queue = store.queue<unknown>("work");
    const { runs, handler } = heldHandler();
    await queue.push("x");
    const worker = queue.work(handler);
    await until("the claim", () => claimed);
    const stopped = worker.stop();
    answer();
    await stopped;
    assert.equal(runs.length, 0);
    assert.equal(await queue.nextDue(), 0);
  },
  "a stop aborts what runs, waits for it and leaves it due; nothing is taken after it": async ({ store }) => {
    const queue = workingStore(store).queue<unknown>("work");
    const { runs, handler } = heldHandler();
    for (const value of ["x", "y"]) await queue.push(value, { id: value });
    const worker = queue.work(handler, { parallel: 2 });
    await until("two runs", () => runs.length === 2);
    let stopped = false;
    const stopping = worker.stop().then(() => {
      stopped = true;
    });
    assert.deepEqual(
      runs.map(({ signal }) => signal.aborted),
      [true, true],
    );
    runs[0]?.end(new Error("was told to stop"));
    await until("the first item's return", async () => (await queue.nextDue()) === 0);
    assert.equal(stopped, false);
    runs[1]?.end();
    await stopping;
    worker.wake();
    await queue.push("z");
    assert.deepEqual(
      (await queue.list()).map(({ value, attempt }) => [value, attempt]),
      [
        ["x", 1],
        ["z", 0],
      ],
    );
    assert.deepEqual(
      (await queue.claim(9, 1_000)).map(({ value, redelivered }) => [value, redelivered]),
      [
        ["x", false],
        ["z", false],
      ],
    );
    assert.equal(runs.length, 2);
  },
};

/** Cases of leases on a daemon that is alone. */
export const leaseCases: Readonly<Record<string, Proof>> = {
  "it is got, and ends when it is given back": async ({ store }) => {
    const working = workingStore(store);
    const lease = await working.lease("leader", 1_000);
    assert.equal(lease.held, true);
    assert.equal(lease.signal.aborted, false);
    const other = await working.lease("channel:acme:main", 1_000);
    await lease.release();
    await lease.release();
    assert.equal(lease.signal.aborted, true);
    assert.equal(other.signal.aborted, false);
    assert.equal((await working.lease("leader", 1_000)).held, true);
    await other.release();
  },
  "it ends with the store": async ({ store }) => {
    const closed = new AbortController();
    const working = workingStore(store, closed.signal);
    const lease = await working.lease("leader", 1_000);
    closed.abort(new Error("closed"));
    assert.equal(lease.signal.aborted, true);
    assert.equal((await working.lease("leader", 1_000)).held, false);
  },
};
