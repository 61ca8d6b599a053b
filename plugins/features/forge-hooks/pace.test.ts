import type { ForgeLimits } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Pace } from "./pace.ts";
import type { Rows } from "./rows.ts";

const SECOND = 1_000;
const LIMITS: ForgeLimits = { maxChars: 100, contentPerMinute: 80, contentPerHour: 500 };
const signal = new AbortController().signal;
const rows = (): Pick<Rows, "paces"> => ({ paces: createMemoryStore().collection("paces") });

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Asks for so many calls at once and answers when each was let go, in milliseconds from now; the clock runs until all were. */
async function times(pace: Pace, count: number, limits = LIMITS): Promise<number[]> {
  const from = Date.now();
  const went: number[] = [];
  const all = Promise.all(Array.from({ length: count }, () => pace.take("bot", limits, "answer", signal).then(() => went.push(Date.now() - from))));
  await vi.advanceTimersByTimeAsync(count * SECOND);
  await all;
  return went;
}

it("between two calls of one token is a second, and none where the forge takes many a minute", async () => {
  expect(await times(new Pace(rows()), 3)).toEqual([0, SECOND, 2 * SECOND]);
  expect(await times(new Pace(rows()), 3, { ...LIMITS, contentPerMinute: 600 })).toEqual([0, 0, 0]);
});

it("a restart does not forget the pause", async () => {
  const kept = rows();
  await new Pace(kept).take("bot", LIMITS, "answer", signal);
  await vi.advanceTimersByTimeAsync(400);
  expect(await times(new Pace(kept), 1)).toEqual([600]);
});

it("FAULT-19 a rest that was noted while the clock stood a day ahead is none once it is set back, and a new one counts", async () => {
  const kept = rows();
  const now = Date.now();
  vi.setSystemTime(now + 24 * 3_600 * SECOND);
  await new Pace(kept).rest("bot", 5 * SECOND);
  vi.setSystemTime(now);
  const pace = new Pace(kept);
  expect(await times(pace, 1)).toEqual([0]);
  await pace.rest("bot", 5 * SECOND);
  const [from, going] = [Date.now(), pace.take("bot", LIMITS, "answer", signal).then(() => Date.now())];
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  expect((await going) - from).toBe(5 * SECOND);
});

it("what is left of a minute is waited for, and who would wait longer than 20 s is told when to come back", async () => {
  const pace = new Pace(rows());
  const few = { ...LIMITS, contentPerMinute: 2 };
  expect(await times(pace, 2, few)).toEqual([0, SECOND]);
  await expect(pace.take("bot", few, "answer", signal)).rejects.toMatchObject({ retryAfterMs: 58 * SECOND });
});

it("two daemons with one token share its pause and its limits, and neither forgets what the other has counted", async () => {
  const kept = rows();
  const [one, two] = [new Pace(kept), new Pace(kept)];
  const few = { ...LIMITS, contentPerMinute: 3 };
  // Both know the token from before.
  expect(await times(one, 1, few)).toEqual([0]);
  expect(await times(two, 1, few)).toEqual([0]);
  expect(await times(one, 1, few)).toEqual([0]);
  await vi.advanceTimersByTimeAsync(10 * SECOND);
  await expect(two.take("bot", few, "answer", signal)).rejects.toMatchObject({ retryAfterMs: 47 * SECOND });
  expect((await kept.paces.get("bot"))?.value.times).toHaveLength(3);
});

it("a rest that the forge asks one daemon for is kept by the other one", async () => {
  const kept = rows();
  const [one, two] = [new Pace(kept), new Pace(kept)];
  await two.take("bot", LIMITS, "answer", signal);
  await one.rest("bot", 60 * SECOND);
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  await two.take("bot", LIMITS, "answer", signal).then(
    () => expect.unreachable(),
    (error) => expect(error.retryAfterMs).toBe(58 * SECOND),
  );
});
