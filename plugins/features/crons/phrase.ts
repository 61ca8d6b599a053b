import { takeDays } from "./phrase-days.ts";
import { Spoken } from "./phrase-spoken.ts";
import { pad, takeTimes } from "./phrase-times.ts";
import { takeZone } from "./phrase-zone.ts";

/** A phrase that means exactly one schedule. */
export interface Understood {
  /** Five fields. */
  readonly expression: string;
  /** Where the phrase names one. */
  readonly timezone?: string;
  /** Meaning of the phrase, as text for people. */
  readonly words: string;
}

/** Parsed parts of a phrase. */
export interface Parts {
  /** Every so many minutes or hours. */
  interval?: { readonly unit: "minute" | "hour"; readonly step: number };
  /** The hours of a day within which an interval counts; the end is the wall clock's. */
  window?: { readonly from: Time; readonly to: Time };
  /** `at :15`: minutes past each hour. */
  pastHour?: number;
  readonly times: Time[];
  /** `every day`, `every month` ...: how often, where nothing says on which days. */
  readonly every: Set<"day" | "week" | "month" | "year">;
  readonly weekdays: Set<number>;
  readonly nth: { readonly weekday: number; readonly ordinal: string }[];
  readonly monthDays: Set<string>;
  readonly months: Set<number>;
}

/** A wall-clock time. */
export interface Time {
  readonly hour: number;
  readonly minute: number;
}

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** Patterns that read phrases take the square of their length, and an agent's words may be any. */
const LONGEST = 300;

/**
 * Reads an English phrase such as "every weekday at 9 in Athens", or five fields of cron with or without a time zone behind them. A phrase
 * that could mean two things, leaves something open or has a word that is not known throws `SVC_SCHEDULE_UNCLEAR`, which says what was
 * understood. Hours without am or pm are those of a 24-hour clock.
 */
export function readPhrase(phrase: string): Understood {
  if (phrase.length > LONGEST) throw new Spoken(`${phrase.slice(0, 40)} ...`).unclear(`a phrase has at most ${LONGEST} characters`);
  const spoken = new Spoken(phrase);
  const fields = /^((?:[\d*][\d*/,-]*\s+){2}\S+\s+\S+\s+\S+)(?:\s+(\S+))?$/.exec(phrase.trim());
  if (fields !== null) {
    const timezone = fields[2] === undefined ? undefined : takeZone(new Spoken(fields[2]));
    if (fields[2] !== undefined && timezone === undefined) throw spoken.unclear(`'${fields[2]}' is no time zone`);
    const expression = (fields[1] as string).replace(/\s+/g, " ");
    return {
      expression,
      ...(timezone === undefined ? {} : { timezone }),
      words: `by the expression ${expression}${timezone === undefined ? "" : `, ${timezone}`}`,
    };
  }
  const parts: Parts = { times: [], every: new Set(), weekdays: new Set(), nth: [], monthDays: new Set(), months: new Set() };
  const timezone = takeZone(spoken);
  takeInterval(spoken, parts);
  takeDays(spoken, parts);
  takeTimes(spoken, parts);
  const left = spoken.left();
  if (left !== "") throw spoken.unclear(`'${left}' is not understood`);
  requireOneMeaning(spoken, parts);
  const expression = `${clockOf(spoken, parts)} ${dateOf(parts)}`;
  return { expression, ...(timezone === undefined ? {} : { timezone }), words: wordsOf(parts, timezone) };
}

/** Splits off the instruction behind a colon: `every weekday at 9: read the mail`. A colon within a time does not count. */
export function splitPhrase(text: string): { readonly when: string; readonly what: string } {
  const at = text.search(/:(?:\s|$)/);
  return at === -1 ? { when: text.trim(), what: "" } : { when: text.slice(0, at).trim(), what: text.slice(at + 1).trim() };
}

function takeInterval(spoken: Spoken, parts: Parts): void {
  const found =
    spoken.take(/\b(?:every|each) (?:(?<half>half(?: an)? hour)|(?<quarter>quarter(?: of an)? hour)|(?:(?<count>\d+) )?(?<unit>minute|hour)s?)\b/) ??
    spoken.take(/\b(?<hourly>hourly)\b/);
  if (found === undefined) return;
  const { half, quarter, count = "1", unit = "hour" } = found;
  const step = half === undefined ? (quarter === undefined ? Number(count) : 15) : 30;
  const interval = { unit: half === undefined && quarter === undefined ? (unit as "minute" | "hour") : "minute", step } as const;
  const [whole, of] = interval.unit === "minute" ? [60, "an hour"] : [24, "a day"];
  if (step < 1 || whole % step !== 0) {
    const fits = Array.from({ length: whole }, (_, at) => at + 1).filter((one) => whole % one === 0 && one < whole);
    throw spoken.unclear(`${step} ${interval.unit}s do not divide ${of} evenly, so the pauses would differ; say ${fits.join(", ")} ${interval.unit}s`);
  }
  parts.interval = interval;
  spoken.understood(step === 1 ? `every ${interval.unit}` : `every ${step} ${interval.unit}s`);
}

/** Throws where two readings are possible, or something is left open. */
function requireOneMeaning(spoken: Spoken, { interval, window, pastHour, times, every, weekdays, nth, monthDays, months }: Parts): void {
  const days = [weekdays.size > 0 && "weekdays", nth.length > 0 && "weekdays of a month", monthDays.size > 0 && "days of a month"].filter(Boolean);
  if (days.length > 1) throw spoken.unclear(`it names both ${days.join(" and ")}; make two schedules`);
  if (interval === undefined && every.size === 0 && weekdays.size < 2 && days.length > 0 && !spoken.repeats)
    throw spoken.unclear("it may mean one day or each of them; say 'every', 'of the month' or 'every year'");
  if (every.has("day") && days.length > 0) throw spoken.unclear("it says every day and names days");
  if (every.has("week") && (nth.length > 0 || monthDays.size > 0)) throw spoken.unclear("it says every week and names days of a month");
  if (interval !== undefined) {
    if (times.length > 0) throw spoken.unclear("it names both an interval and a time of day; say 'between 9 and 17' for hours of a day");
    if (pastHour !== undefined && interval.unit === "minute") throw spoken.unclear("it names both minutes of an hour and an interval of minutes");
    if (every.size > 0 && !every.has("day")) throw spoken.unclear("it names two intervals");
    return;
  }
  if (window !== undefined) throw spoken.unclear("it names hours of a day but no interval; say 'every hour between ...'");
  if (pastHour !== undefined) throw spoken.unclear("it names minutes of an hour; say 'every hour at ...'");
  if (days.length === 0 && !every.has("day")) {
    if (every.has("week")) throw spoken.unclear("on which day of the week?");
    if (every.has("month")) throw spoken.unclear("on which day of the month?");
    if (every.has("year") || months.size > 0) throw spoken.unclear("on which days?");
    throw spoken.unclear(times.length > 0 ? "how often? Say 'every day at ...' or name days" : "it says neither when nor how often");
  }
  if (every.has("year") && months.size === 0) throw spoken.unclear("in which month of the year?");
  if (times.length === 0) throw spoken.unclear("at what time of day?");
}

/** Minutes and hours. */
function clockOf(spoken: Spoken, { interval, window, pastHour, times }: Parts): string {
  if (interval === undefined) {
    const minutes = [...new Set(times.map(({ minute }) => minute))].sort((a, b) => a - b);
    const hours = [...new Set(times.map(({ hour }) => hour))].sort((a, b) => a - b);
    if (minutes.length * hours.length !== times.length) throw spoken.unclear("its times differ in their minutes; make a schedule for each");
    return `${minutes.join(",")} ${hours.join(",")}`;
  }
  const { unit, step } = interval;
  if (unit === "minute") {
    const minute = step === 1 ? "*" : `*/${step}`;
    if (window === undefined) return `${minute} *`;
    const { from, to } = window;
    if (from.minute !== 0 || to.minute !== 0 || to.hour <= from.hour) throw spoken.unclear("hours of a day are whole hours, the earlier one first");
    return `${minute} ${from.hour}-${to.hour - 1}`.replace(/ (\d+)-\1$/, " $1");
  }
  const minute = pastHour ?? window?.from.minute ?? 0;
  if (window === undefined) return `${minute} ${step === 1 ? "*" : `*/${step}`}`;
  const { from, to } = window;
  if (to.minute !== from.minute || to.hour <= from.hour) throw spoken.unclear("hours of a day begin and end at the same minute, the earlier one first");
  return `${minute} ${from.hour}-${to.hour}${step === 1 ? "" : `/${step}`}`;
}

/** Days, months and weekdays. */
function dateOf({ weekdays, nth, monthDays, months }: Parts): string {
  const week = nth.length > 0 ? nth.map(({ weekday, ordinal }) => `${weekday}#${ordinal}`).join(",") : ranges([...weekdays]);
  return `${[...monthDays].join(",") || "*"} ${ranges([...months]) || "*"} ${week || "*"}`;
}

/** `1,2,3,5` as `1-3,5`. */
function ranges(numbers: readonly number[]): string {
  const runs: number[][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run?.at(-1) === number - 1) run.push(number);
    else runs.push([number]);
  }
  return runs.map((run) => (run.length > 2 ? `${run[0]}-${run.at(-1)}` : run.join(","))).join(",");
}

function wordsOf({ interval, window, pastHour, times, weekdays, nth, monthDays, months }: Parts, timezone: string | undefined): string {
  const clock = ({ hour, minute }: Time) => `${pad(hour)}:${pad(minute)}`;
  const lastOf = (w: NonNullable<Parts["window"]>, step: number) => ({ hour: w.to.hour - 1, minute: 60 - step });
  const parts = [
    interval === undefined
      ? `at ${listed(times.toSorted((a, b) => a.hour - b.hour || a.minute - b.minute).map(clock))}`
      : `every ${interval.step === 1 ? interval.unit : `${interval.step} ${interval.unit}s`}${pastHour === undefined ? "" : ` at minute ${pastHour}`}`,
    window === undefined || interval === undefined
      ? ""
      : `from ${clock(window.from)} to ${clock(interval.unit === "minute" ? lastOf(window, interval.step) : window.to)}, both included`,
    weekdays.size > 0 ? `on ${weekdayWords(weekdays)}` : "",
    nth.length > 0 ? `on the ${listed(nth.map(({ weekday, ordinal }) => `${ordinalWord(ordinal)} ${DAYS[weekday]}`))} of the month` : "",
    monthDays.size > 0 ? `on ${listed([...monthDays].map((day) => (day === "L" ? "the last day" : `day ${day}`)))} of the month` : "",
    interval === undefined && weekdays.size + nth.length + monthDays.size === 0 ? "every day" : "",
    months.size > 0 ? `in ${listed([...months].sort((a, b) => a - b).map((month) => MONTHS[month - 1] as string))}` : "",
  ];
  return `${parts.filter(Boolean).join(" ")}${timezone === undefined ? "" : `, ${timezone}`}`;
}

function weekdayWords(weekdays: ReadonlySet<number>): string {
  const key = [...weekdays].sort().join("");
  if (key === "12345") return "Monday to Friday";
  if (key === "06") return "Saturday and Sunday";
  return listed([...weekdays].sort((a, b) => ((a + 6) % 7) - ((b + 6) % 7)).map((day) => DAYS[day] as string));
}

const ordinalWord = (ordinal: string): string => ["", "first", "second", "third", "fourth", "fifth"][Number(ordinal)] ?? "last";

const listed = (words: readonly string[]): string => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);
