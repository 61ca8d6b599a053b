import type { Trace } from "@svc/sdk";
import { expect, it } from "vitest";
import { axisOf, barOf, rowsOf, ticksOf, tickWords } from "./waterfall-rows.ts";

const trace = (more: Partial<Trace>): Trace => ({
  id: "task_1",
  rootId: "r",
  agent: "a",
  channel: "c",
  chat: "1",
  conversation: "x",
  entry: "task",
  status: "ok",
  startedAt: 1_000,
  endedAt: 11_000,
  attempts: 1,
  steps: [],
  ...more,
});

it("a task is its wait, its preparation, the engine with its steps, and the delivery", () => {
  const steps = [
    { name: "session", kind: "prepare", at: 3_000, error: "started anew" },
    { name: "shell", kind: "tool", at: 4_000, durationMs: 500, input: "ls\n -l" },
    { name: "read", kind: "tool", at: 5_000, durationMs: 100, error: "no such file" },
    { name: "send", kind: "deliver", at: 10_900, durationMs: 50 },
  ];
  const rows = rowsOf(trace({ steps, usage: { input: 10, output: 5, cacheRead: 100 } }), "cli-a", { at: 3_000 } as never);
  expect(rows.map(({ id, level, kind, failed }) => [id, level, kind, failed])).toEqual([
    ["wait", 0, "waiting", false],
    ["step-0", 0, "svc", true],
    ["engine", 0, "engine", false],
    ["step-1", 1, "tool", false],
    ["step-2", 1, "tool", true],
    ["step-3", 0, "svc", false],
  ]);
  expect(rows[2]).toMatchObject({ tokens: 115, from: 3_000, to: 11_000, folds: true });
  expect(rows[3]?.about).toBe("ls -l");
});

it("the axis of a task that goes on grows in steps; ticks are round", () => {
  expect(axisOf(trace({}), 0)).toEqual({ from: 1_000, to: 11_000 });
  const { endedAt: _ended, ...running } = trace({ status: "in-flight" });
  for (const [took, length] of [
    [1, 10_000],
    [9_999, 10_000],
    [10_001, 20_000],
    [61_000, 90_000],
    [301_000, 360_000],
  ] as const)
    expect(axisOf(running, 1_000 + took).to - 1_000).toBe(length);
  expect(ticksOf(1_000, 11_000, 1_000)).toEqual([0, 2_000, 4_000, 6_000, 8_000]);
  expect([0, 200, 1_500, 20_000, 120_000, 7_200_000].map(tickWords)).toEqual(["0 s", "200 ms", "1.5 s", "20 s", "2 min", "2 h"]);
});

it("a bar out of sight is not drawn, one that goes on reaches to now", () => {
  const row = { id: "x", name: "x", level: 0, kind: "svc", from: 2_000, to: 4_000, failed: false } as const;
  expect(barOf(row, { from: 0, to: 10_000 }, 0)).toEqual({ x: 20, width: 20 });
  expect(barOf(row, { from: 5_000, to: 10_000 }, 0)).toBeUndefined();
  const { to: _to, ...open } = row;
  expect(barOf(open, { from: 0, to: 10_000 }, 7_000)).toEqual({ x: 20, width: 50 });
});
