import { expect, it } from "vitest";
import { type ClockNote, SteadyClock } from "./steady-clock.ts";

const WALL = Date.parse("2026-06-01T12:00:00Z");
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A clock under wall and monotonic times that a test moves. */
function clockAt(wall: number, monotonic: number, note?: ClockNote) {
  const times = { wall, monotonic };
  const clock = new SteadyClock(
    () => times.wall,
    () => times.monotonic,
    note,
  );
  return { times, clock };
}

it("FLT-4 begins as the wall clock and then runs evenly, whatever is done to that", () => {
  const { times, clock } = clockAt(WALL, 5_000);
  expect(clock.now()).toBe(WALL);
  times.monotonic += 1_500;
  times.wall -= 365 * DAY;
  expect(clock.now()).toBe(WALL + 1_500);
});

it("FLT-4 goes on over a restart by the system's own clock, though the wall clock was set meanwhile", () => {
  const { clock } = clockAt(WALL, 5_000);
  const note = clock.note();
  for (const wall of [WALL - 400 * DAY, WALL + 400 * DAY]) expect(clockAt(wall, 5_000 + 3 * DAY, note).clock.now()).toBe(WALL + 3 * DAY);
});

it("FLT-4 after a reboot the wall clock says how long nothing ran: a day at most, and never less than nothing", () => {
  const { boot: _boot, ...note } = clockAt(WALL, 5_000).clock.note() as ClockNote;
  const after = (wall: number) => clockAt(wall, 100, { ...note, boot: "another" }).clock.now() - WALL;
  expect(after(WALL + 15 * HOUR)).toBe(15 * HOUR);
  expect(after(WALL + 400 * DAY)).toBe(DAY);
  expect(after(WALL - DAY)).toBe(0);
  // Also where the system does not tell its runs apart.
  expect(clockAt(WALL + HOUR, 9_000, note).clock.now() - WALL).toBe(HOUR);
});

it("is noted at first, each hour, and when the wall clock was set", () => {
  const { times, clock } = clockAt(WALL, 0);
  const pass = (ms: number) => {
    times.wall += ms;
    times.monotonic += ms;
  };
  expect(clock.note()).toMatchObject({ steady: WALL, wall: WALL, monotonic: 0 });
  expect(clock.note()).toBeUndefined();
  pass(HOUR / 2);
  expect(clock.note()).toBeUndefined();
  times.wall += 5_000;
  expect(clock.note()).toMatchObject({ steady: WALL + HOUR / 2, wall: WALL + HOUR / 2 + 5_000 });
  expect(clock.note()).toBeUndefined();
  pass(HOUR);
  expect(clock.note()).toBeDefined();
});

it.each([
  null,
  [],
  { steady: "abc", wall: 1, monotonic: 1 },
  { steady: null, wall: null, monotonic: null },
  { steady: 1e300, wall: 1, monotonic: 1 },
  { steady: -1, wall: 1, monotonic: 1 },
])("FLT-R2 takes a note that is none for no note: %j", (note) => {
  const { clock } = clockAt(WALL, 5_000, note as never);
  expect(clock.now()).toBe(WALL);
  expect(clock.note()).toMatchObject({ steady: WALL, wall: WALL, monotonic: 5_000 });
});
