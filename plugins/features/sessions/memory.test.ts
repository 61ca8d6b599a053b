import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { createMemory } from "./memory.ts";
import type { Kept } from "./rotation.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };

function memoryOn() {
  const store = createMemoryStore();
  const sessions = () => store.collection<Kept>("sessions", { indexes: ["at"] });
  return { memory: createMemory(sessions, silent), sessions };
}

it("SES-05 what was set is there before it is stored, and still there afterwards", async () => {
  const { memory, sessions } = memoryOn();
  const one: Kept = { session: "s1", turns: 1, at: 10, input: 0 };
  memory.set("k", one);
  memory.set("k", { ...one, turns: 2 });
  expect((await memory.get("k"))?.turns).toBe(2);
  await memory.settled();
  expect((await sessions().get("k"))?.value.turns).toBe(2);
  expect((await memory.get("k"))?.turns).toBe(2);
});

it("forgets what has not been used since, and nothing else", async () => {
  const { memory, sessions } = memoryOn();
  for (const at of [1, 2, 3]) memory.set(`k${at}`, { session: "s", turns: 1, at, input: 0 });
  await memory.settled();
  await memory.forget(3);
  expect((await sessions().list()).map(({ key }) => key)).toEqual(["k3"]);
});
