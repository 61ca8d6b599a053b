import { afterEach, expect, it } from "vitest";
import { createMemoryWarm } from "../testing/memory-warm.ts";
import { createRealSpawn } from "../testing/real-spawn.ts";
import type { TierEvent } from "../tier.ts";
import { createEnginePool } from "./pool.ts";
import { type PooledRun, runOnPool } from "./pooled-run.ts";

const { spawn, processes, stopAll } = createRealSpawn();
afterEach(stopAll);

/** A program that takes its time to work. */
const SLOW = `
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  setTimeout(() => console.log(JSON.stringify({ id, result: { pid: process.pid } })), ({ hello: 0, open: 1_500, work: 3_000 })[method]);
});`;

const launch = {
  program: process.execPath,
  args: ["-e", SLOW],
  cwd: import.meta.dirname,
  env: {},
  who: "tier slow",
  hint: "is it there?",
  conversationKey: "conversation",
};

const pool = () => createEnginePool({ spawn, warm: createMemoryWarm(), name: "slow", handshake: (rpc) => rpc.request("hello", {}) });

it("RUN-01 a run that is cancelled while its conversation is being opened leaves a process in which others work", async () => {
  const engines = pool();
  const run = (signal: AbortSignal, converse: (run: PooledRun) => AsyncGenerator<TierEvent>) =>
    runOnPool(engines, { launch: () => launch, shared: true, signal, converse });
  const ended: string[] = [];
  const read = async (name: string, events: AsyncGenerator<TierEvent>) => {
    const found: TierEvent[] = [];
    for await (const event of events) found.push(event);
    ended.push(name);
    return found;
  };
  let working = () => {};
  const begun = new Promise<void>((resolve) => {
    working = resolve;
  });
  const one = read(
    "one",
    run(new AbortController().signal, async function* ({ engine, begun: open, over }) {
      open("a", () => {});
      working();
      await engine.rpc.request("work", {});
      over();
      yield { type: "done", text: "worked" };
    }),
  );
  await begun;
  const cancel = new AbortController();
  let opened = 0;
  const other = read(
    "other",
    run(cancel.signal, async function* ({ engine, begun: open }) {
      queueMicrotask(() => cancel.abort());
      await engine.rpc.request("open", {});
      opened = engine.users;
      open("b", () => {});
      yield { type: "session", id: "b" };
      throw new Error("a cancelled run goes on");
    }),
  );
  expect(await other).toEqual([]);
  expect(await one).toEqual([{ type: "done", text: "worked" }]);
  expect(ended).toEqual(["other", "one"]);
  // It holds the process until then, and no longer: the next one takes it up.
  await expect.poll(() => opened, { timeout: 5_000 }).toBeGreaterThan(0);
  const next = await engines.claim({ launch, shared: true, signal: new AbortController().signal });
  await expect.poll(() => next.users).toBe(1);
  expect(next.rpc.alive).toBe(true);
  expect(processes()).toHaveLength(1);
});
