import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { createBudget } from "./budget.ts";
import type { SessionSettings } from "./settings.ts";

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const limits = { maxClaudeCodeDispatchesPerHour: 2, maxClaudeCodeDispatchesPer5h: 2 } as SessionSettings;
const HOUR_MS = 3_600_000;

it("FAULT-19 runs from before the clock was set back use nothing up until it has caught up, over restarts too", async () => {
  const store = createMemoryStore();
  const start = () =>
    createBudget(
      () => store.journal<number>("cold-runs"),
      silent,
      () => {},
    );
  const now = Date.parse("2026-05-04T10:00:00Z");
  const wrong = now + 1_000 * HOUR_MS;
  const budget = start();
  expect([await budget.spend(wrong, limits), await budget.spend(wrong, limits)]).toEqual([undefined, undefined]);
  expect(await budget.spend(wrong, limits)).toContain("used up");
  for (const one of [budget, start()]) expect(await one.spend(now, limits)).toBeUndefined();
  expect(await start().spend(now, limits)).toContain("There is room again in 60 min");
});
