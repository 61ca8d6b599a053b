import { createKernel, type Kernel } from "@svc/kernel";
import { definePlugin } from "@svc/sdk";
import { afterEach, beforeEach, expect, it } from "vitest";

/** The test runner listens too, and would call the run failed. */
const EVENTS = ["uncaughtException", "unhandledRejection"] as const;
let others: Map<string, ((...args: unknown[]) => void)[]>;

beforeEach(() => {
  others = new Map(EVENTS.map((event) => [event, process.listeners(event as "exit") as never]));
  for (const event of EVENTS) process.removeAllListeners(event);
});
afterEach(() => {
  for (const event of EVENTS) {
    process.removeAllListeners(event);
    for (const listener of others.get(event) ?? []) process.on(event as "exit", listener as never);
  }
});

/** A plugin that both kernels have, under one id, and that does what `on` says when it starts. */
const twin = (on: () => void) =>
  definePlugin({ kind: "feature", name: "twin", version: "1.0.0", svc: "^0.1.0", capabilities: [], setup: () => ({ start: async () => on() }) });

const kernelOf = (id: string, on: () => void) => createKernel({ config: { node: { id, name: id } }, plugins: [twin(on)] });
const failures = (kernel: Kernel) => kernel.health().plugins.flatMap(({ id, failures: count }) => (id === "feature-twin" ? [count] : []));

it.each([
  [
    "a throw in a timer",
    () =>
      void setTimeout(() => {
        throw new Error("late");
      }, 0),
  ],
  ["a promise nobody caught", () => void setTimeout(() => Promise.reject(new Error("late")), 0)],
])("FAULT-65 %s of one kernel's plugin is counted by that kernel, though another in the process has a plugin of the same id", async (_, misbehave) => {
  const calm = await kernelOf("calm", () => {});
  const wild = await kernelOf("wild", misbehave);
  const heard = new Promise<boolean[]>((resolve) => {
    for (const event of EVENTS) process.on(event as "exit", ((error: unknown) => resolve([calm.stray(error), wild.stray(error)])) as never);
  });
  await calm.start();
  await wild.start();
  expect(await heard).toEqual([false, true]);
  expect([failures(calm), failures(wild)]).toEqual([[0], [1]]);
  await calm.stop();
  await wild.stop();
});
