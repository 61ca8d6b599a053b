import type { QuietHours } from "./settings.ts";

const MINUTE_MS = 60_000;
/** More than any day has, also one that a change of clocks makes longer. */
const MOST_MINUTES = 26 * 60;

/**
 * When the quiet hours that cover `at` end, in Unix milliseconds; undefined outside them. The clock is the wall clock of the zone: an
 * hour that a change of clocks leaves out or repeats is as quiet as its name says.
 */
export function quietUntil(hours: QuietHours | undefined, zone: string | undefined, at: number): number | undefined {
  if (hours === undefined) return undefined;
  const [start, end] = [minutesOf(hours.start), minutesOf(hours.end)];
  const wall = wallClock(zone);
  const isQuiet = (ms: number): boolean => {
    const minute = wall(ms);
    return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
  };
  if (!isQuiet(at)) return undefined;
  let next = Math.floor(at / MINUTE_MS) * MINUTE_MS;
  for (let passed = 0; passed < MOST_MINUTES && isQuiet(next); passed++) next += MINUTE_MS;
  return next;
}

const minutesOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** Minutes since midnight on the wall of the zone. */
function wallClock(zone: string | undefined): (ms: number) => number {
  const format = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(zone === undefined ? {} : { timeZone: zone }) });
  return (ms) => minutesOf(format.format(ms));
}
