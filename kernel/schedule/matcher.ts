import { type Cron, dayMatches } from "./cron.ts";
import { MINUTE, wall, type Zone } from "./zone.ts";

/** Longest shift of a clock that is looked for, in minutes. */
const LONGEST_SHIFT = 180;
const DAY = 1_440;
/** A schedule that matches nothing in this many days never will: 29 February comes within eight years, even around 2100. */
const HORIZON = 8 * 366 + 1;

/**
 * Does a job run at this instant (Unix minutes)? Where clocks go forward, a job whose time was skipped runs once at the first
 * moment after; where they go back, a job with a fixed hour runs at the first of its two times only. Jobs of every hour follow
 * elapsed time.
 */
export function matches(cron: Cron, zone: Zone, minute: number): boolean {
  const now = wall(zone, minute);
  if (readingMatches(cron, now)) return cron.everyHour || !isRepeated(zone, minute);
  if (cron.everyHour) return false;
  const before = wall(zone, minute - 1);
  for (let skipped = before + 1; skipped < now; skipped += 1) if (readingMatches(cron, skipped)) return true;
  return false;
}

/** The next `count` instants after `from` (exclusive), in order; fewer when the schedule never matches again. */
export function nextTimes(cron: Cron, zone: Zone, from: Date, count: number): Date[] {
  const found: Date[] = [];
  let minute = Math.floor(from.getTime() / MINUTE) + 1;
  const end = minute + HORIZON * DAY;
  while (found.length < count && minute < end) {
    if (matches(cron, zone, minute)) found.push(new Date(minute * MINUTE));
    minute += stride(cron, wall(zone, minute));
  }
  return found;
}

/** How far it is safe to go on: over a day that does not match, over an hour that does not. Never over a change of the clocks' end. */
function stride(cron: Cron, reading: number): number {
  const date = new Date(reading * MINUTE);
  const minuteOfDay = date.getUTCHours() * 60 + date.getUTCMinutes();
  // Clocks change at night: the last hours of a day are walked minute by minute only where a shift could hide in them.
  if (!dayMatches(cron, date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCDay())) return Math.max(1, Math.min(60 - (minuteOfDay % 60), DAY - minuteOfDay));
  if (!cron.hours[date.getUTCHours()]) return 60 - (minuteOfDay % 60);
  return 1;
}

function readingMatches(cron: Cron, reading: number): boolean {
  const date = new Date(reading * MINUTE);
  return (
    cron.minutes[date.getUTCMinutes()] === true &&
    cron.hours[date.getUTCHours()] === true &&
    dayMatches(cron, date.getUTCMonth() + 1, date.getUTCDate(), date.getUTCDay())
  );
}

/** Has the wall clock shown this reading before, because it was set back since? */
function isRepeated(zone: Zone, minute: number): boolean {
  const offset = zone.offset(minute);
  const shift = zone.offset(minute - LONGEST_SHIFT) - offset;
  return shift > 0 && zone.offset(minute - shift) - offset === shift;
}
