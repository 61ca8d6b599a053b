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

/** The next `count` instants after `from` and before `to` (both exclusive), in order; fewer when the schedule matches no more. */
export function nextTimes(cron: Cron, zone: Zone, from: Date, count: number, to?: Date): Date[] {
  const found: Date[] = [];
  let minute = Math.floor(from.getTime() / MINUTE) + 1;
  const end = to === undefined ? minute + HORIZON * DAY : to.getTime() / MINUTE;
  while (found.length < count && minute < end) {
    if (matches(cron, zone, minute)) found.push(new Date(minute * MINUTE));
    minute += stride(cron, zone, minute);
  }
  return found;
}

/**
 * Returns the instants after `from` and before `to` (both exclusive): the first, the last, and their number, counted up to `most`. Undefined if there
 * are none.
 */
export function spanOf(cron: Cron, zone: Zone, from: Date, to: Date, most: number): { first: Date; last: Date; count: number; more: boolean } | undefined {
  const found = nextTimes(cron, zone, from, most + 1, to);
  const [first] = found;
  const latest = found.at(-1);
  if (first === undefined || latest === undefined) return undefined;
  const more = found.length > most;
  return { first, last: more ? lastTime(cron, zone, latest, to) : latest, count: Math.min(found.length, most), more };
}

/** The last instant before `to` (exclusive), `known` being one of them. Looks back in ever longer stretches: the many in between cost nothing. */
function lastTime(cron: Cron, zone: Zone, known: Date, to: Date): Date {
  for (let back = 60 * MINUTE; to.getTime() - back > known.getTime(); back *= 2) {
    const last = nextTimes(cron, zone, new Date(to.getTime() - back), Number.POSITIVE_INFINITY, to).at(-1);
    if (last !== undefined) return last;
  }
  return nextTimes(cron, zone, known, Number.POSITIVE_INFINITY, to).at(-1) ?? known;
}

/** Returns the number of minutes that may be skipped safely: over a day or an hour that does not match, but never over the end of a change of the clocks. */
function stride(cron: Cron, zone: Zone, minute: number): number {
  const reading = new Date(wall(zone, minute) * MINUTE);
  const restOfHour = 60 - reading.getUTCMinutes();
  if (!dayMatches(cron, reading)) {
    const restOfDay = (23 - reading.getUTCHours()) * 60 + restOfHour;
    return zone.offset(minute) === zone.offset(minute + restOfDay) ? restOfDay : restOfHour;
  }
  return cron.hours[reading.getUTCHours()] ? 1 : restOfHour;
}

function readingMatches(cron: Cron, reading: number): boolean {
  const date = new Date(reading * MINUTE);
  return cron.minutes[date.getUTCMinutes()] === true && cron.hours[date.getUTCHours()] === true && dayMatches(cron, date);
}

/** Whether the wall clock has shown this reading before, because it was set back since. */
function isRepeated(zone: Zone, minute: number): boolean {
  const offset = zone.offset(minute);
  const shift = zone.offset(minute - LONGEST_SHIFT) - offset;
  return shift > 0 && zone.offset(minute - shift) - offset === shift;
}
