import type { WorkingState, WorkingWindow } from "@svc/sdk";

const NAMES = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
/** Every window starts within this many days, if it starts at all. */
const AHEAD_DAYS = 9;

const listOf = (days: string | readonly string[]): readonly string[] => (typeof days === "string" ? days.split(",").map((day) => day.trim()) : days);

/** The days 1 (Monday) to 7 of `mon`, `mon-fri`, or a list of such; over the end of the week too (`sat-mon`). Undefined where one is no day. */
function daysIn(days: string | readonly string[]): readonly number[] | undefined {
  const found = new Set<number>();
  for (const part of listOf(days)) {
    const [from = "", to = from, ...more] = part.toLowerCase().split("-");
    const [first, last] = [NAMES.indexOf(from), NAMES.indexOf(to)];
    if (first < 0 || last < 0 || more.length > 0) return undefined;
    for (let day = first; ; day = (day + 1) % 7) {
      found.add(day + 1);
      if (day === last) break;
    }
  }
  return found.size === 0 ? undefined : [...found].sort();
}

/** Whether these are days. */
export const isDays = (days: string | readonly string[]): boolean => daysIn(days) !== undefined;

/** The days of a window; Monday to Friday where none are given. */
export const daysOf = (days: string | readonly string[] = "mon-fri"): readonly number[] => daysIn(days) ?? [];

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the wall clock of a time zone: `day` is 1 to 7, `date` counts days. */
function wallClock(at: number, timezone: string): { readonly minutes: number; readonly day: number; readonly date: number } {
  let format = formats.get(timezone);
  if (format === undefined) {
    const fields = { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit" } as const;
    format = new Intl.DateTimeFormat("en-US", { ...fields, hourCycle: "h23", timeZone: timezone });
    formats.set(timezone, format);
  }
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0 } = part;
  const date = Math.round(Date.UTC(year, month - 1, day) / (DAY_MINUTES * MINUTE_MS));
  // The first of January 1970 was a Thursday.
  return { minutes: hour * 60 + minute, date, day: ((((date + 3) % 7) + 7) % 7) + 1 };
}

const minutesOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
const dayBefore = (day: number): number => (day === 1 ? 7 : day - 1);

function isOpen({ start, end, days, timezone }: WorkingWindow, at: number): boolean {
  const { minutes, day } = wallClock(at, timezone);
  const [from, to] = [minutesOf(start), minutesOf(end)];
  const today = days.includes(day);
  if (from < to) return today && minutes >= from && minutes < to;
  // Over midnight: the rest of yesterday's window counts too.
  return (today && minutes >= from) || (days.includes(dayBefore(day)) && minutes < to);
}

/**
 * The first moment at which a time zone's wall clock shows at least `minutes` on the day `date`: a time that is skipped when clocks are set
 * ahead comes with the jump, one that is there twice comes the first time.
 */
function momentOf(date: number, minutes: number, timezone: string): number {
  const wall = (at: number) => {
    const shown = wallClock(at, timezone);
    return shown.date * DAY_MINUTES + shown.minutes;
  };
  const wanted = date * DAY_MINUTES + minutes;
  const about = wanted - (wall(wanted * MINUTE_MS) - wanted);
  // Clocks change by three hours at most; the result is verified, so that a larger change is only reported late.
  let at = (about - 180) * MINUTE_MS;
  const end = (about + 180) * MINUTE_MS;
  for (const step of [15 * MINUTE_MS, MINUTE_MS]) {
    while (at < end && wall(at) < wanted) at += step;
    if (step > MINUTE_MS) at -= step;
  }
  return at;
}

/** Whether a window is open at a moment, and until when that stays so. */
export function workingAt(window: WorkingWindow, at: number): WorkingState {
  const working = isOpen(window, at);
  const { date } = wallClock(at, window.timezone);
  for (let ahead = -1; ahead <= AHEAD_DAYS; ahead += 1) {
    const edges = [window.start, window.end].map((time) => momentOf(date + ahead, minutesOf(time), window.timezone)).sort((left, right) => left - right);
    const change = edges.find((edge) => edge > at && isOpen(window, edge) !== working);
    if (change !== undefined) return { working, until: change };
  }
  // A window that is open day and night never changes: it is told as far as was looked.
  return { working, until: at + AHEAD_DAYS * DAY_MINUTES * MINUTE_MS };
}
