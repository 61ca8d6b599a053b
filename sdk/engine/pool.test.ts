import { afterEach, expect, it } from "vitest";
import { createMemoryWarm } from "../testing/memory-warm.ts";
import { createRealSpawn } from "../testing/real-spawn.ts";
import { createEnginePool } from "./pool.ts";

const { spawn, processes, stopAll } = createRealSpawn();
afterEach(stopAll);

/** A program that takes its time to come up, and to end. */
const SLOW = `
process.on("SIGTERM", () => setTimeout(() => process.exit(0), 300));
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id } = JSON.parse(line);
  setTimeout(() => console.log(JSON.stringify({ id, result: { pid: process.pid } })), 200);
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

it("RUN-01 a run that comes while the process of a cancelled one is being ended gets a process of its own", async () => {
  const engines = pool();
  const first = new AbortController();
  const cancelled = engines.claim({ launch, shared: true, signal: first.signal });
  cancelled.catch(() => undefined);
  while (processes().length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  first.abort();
  const engine = await engines.claim({ launch, shared: true, signal: new AbortController().signal });
  expect(await engine.rpc.request("who", {})).toEqual({ pid: expect.any(Number) });
  await expect(cancelled).rejects.toMatchObject({ code: "SVC_RPC_ABORTED" });
  expect(engine.rpc.alive).toBe(true);
  expect(processes()).toHaveLength(1);
});

it("a kept process whose output became unreadable is ended when the next run cannot use it", async () => {
  const warm = createMemoryWarm();
  const engines = createEnginePool({ spawn, warm, name: "odd", handshake: (rpc) => rpc.request("hello", {}) });
  const odd = { ...launch, args: ["-e", `${SLOW} setTimeout(() => console.log("{ an update is there"), 400);`] };
  const { signal } = new AbortController();
  const first = await engines.claim({ launch: odd, shared: true, signal });
  await engines.giveBack(first, { over: true });
  while (first.rpc.alive) await new Promise((resolve) => setTimeout(resolve, 5));
  const second = await engines.claim({ launch: odd, shared: true, signal });
  expect(second).not.toBe(first);
  await first.rpc.ended;
  expect(processes()).toHaveLength(1);
});
