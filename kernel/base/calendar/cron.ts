import { fail } from "../errors.ts";

/** A parsed 5-field expression: for each field, which values match. */
export interface Cron {
  readonly minutes: readonly boolean[];
  readonly hours: readonly boolean[];
  readonly days: readonly boolean[];
  readonly months: readonly boolean[];
  readonly weekdays: readonly boolean[];
  /** `L` among the days of the month: the last one, however long the month is. */
  readonly lastDay: boolean;
  /** `1#2`, `fri#L`: these weekdays only as the so-many-th of their month, 0 for the last. */
  readonly nth: readonly { readonly weekday: number; readonly ordinal: number }[];
  /** Both day fields are restricted: either one is enough, as cron has always done it. */
  readonly eitherDay: boolean;
  /** The hour is `*` or `*` with a step: such a job follows elapsed time through a change of the clocks, not the wall clock. */
  readonly everyHour: boolean;
}

interface Field {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const FIELDS: readonly Field[] = [
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day of month", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"] },
  { name: "day of week", min: 0, max: 7, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

/**
 * Parse exactly five fields: numbers, names, lists, ranges and steps; beside these `L` as a day of the month is its last one, and a weekday
 * with `#1` to `#5` or `#L` the so-many-th or the last of the month. Throws `SVC_CRON_INVALID` naming the field.
 */
export function parseCron(expression: string): Cron {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5) {
    throw fail("SVC_CRON_INVALID", { expression, reason: `it has ${parts.length} fields; write five: minute, hour, day of month, month, day of week` });
  }
  const special = specialDays(parts[2] as string, parts[4] as string, expression);
  const plain = [...parts.slice(0, 2), special.days, parts[3], special.week];
  const [minutes, hours, days, months, week] = FIELDS.map((field, at) => parseField(plain[at] as string, field, expression)) as [
    boolean[],
    boolean[],
    boolean[],
    boolean[],
    boolean[],
  ];
  // Sunday may be written 0 or 7.
  const weekdays = week.slice(0, 7);
  if (week[7]) weekdays[0] = true;
  const [, hourText, dayText, , weekText] = parts as [string, string, string, string, string];
  const eitherDay = !dayText.startsWith("*") && !weekText.startsWith("*");
  return { minutes, hours, days, months, weekdays, lastDay: special.lastDay, nth: special.nth, eitherDay, everyHour: hourText.startsWith("*") };
}

/** Extracts the month-dependent parts from the two fields of days; the rest are numbers, or empty. */
function specialDays(dayText: string, weekText: string, expression: string): Pick<Cron, "lastDay" | "nth"> & { readonly days: string; readonly week: string } {
  const days = dayText.split(",");
  const week = weekText.split(",");
  const nth = week.flatMap((part) => {
    const [name = "", ordinal, ...more] = part.split("#");
    if (ordinal === undefined) return [];
    const weekday = numberOf(name, FIELDS[4] as Field);
    if (weekday === undefined || weekday > 7 || more.length > 0 || !/^(?:[1-5]|L)$/i.test(ordinal))
      throw fail("SVC_CRON_INVALID", { expression, reason: `day of week '${part}' is not a weekday with #1 to #5 or #L` });
    return [{ weekday: weekday % 7, ordinal: /^l$/i.test(ordinal) ? 0 : Number(ordinal) }];
  });
  const lastDay = days.some((part) => /^l$/i.test(part));
  return {
    lastDay,
    nth,
    days: lastDay ? days.filter((part) => !/^l$/i.test(part)).join(",") || NONE : dayText,
    week: nth.length > 0 ? week.filter((part) => !part.includes("#")).join(",") || NONE : weekText,
  };
}

/** A field that is empty after its month-dependent parts were extracted. */
const NONE = "";

function parseField(text: string, field: Field, expression: string): boolean[] {
  const { name, min, max } = field;
  if (text === NONE) return new Array<boolean>(max + 1).fill(false);
  const wrong = (reason: string) => fail("SVC_CRON_INVALID", { expression, reason: `${name} '${text}' ${reason}` });
  const matches = new Array<boolean>(max + 1).fill(false);
  for (const part of text.split(",")) {
    const found = /^(\*|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d+))?$/i.exec(part);
    if (found === null) throw wrong("is not a number, name, range, list or step");
    const [, first, last, stepText] = found as unknown as [string, string, string | undefined, string | undefined];
    if (first === "*" && last !== undefined) throw wrong("mixes * with a range");
    const step = stepText === undefined ? 1 : Number(stepText);
    if (step < 1) throw wrong("has a step below 1");
    const from = first === "*" ? min : numberOf(first, field);
    const to = first === "*" ? (max === 7 ? 6 : max) : last === undefined ? (stepText === undefined ? from : max) : numberOf(last, field);
    if (from === undefined || to === undefined || from < min || to > max) throw wrong(`is outside ${min} to ${max}`);
    if (from > to) throw wrong("is a range that ends before it starts");
    for (let value = from; value <= to; value += step) matches[value] = true;
  }
  return matches;
}

function numberOf(text: string, { min, names }: Field): number | undefined {
  if (/^\d+$/.test(text)) return Number(text);
  const at = names?.indexOf(text.toLowerCase()) ?? -1;
  return at === -1 ? undefined : at + min;
}

/** Does the calendar day match? `reading` is the wall clock as if it were UTC. */
export function dayMatches(cron: Cron, reading: Date): boolean {
  if (!cron.months[reading.getUTCMonth() + 1]) return false;
  const [day, weekday] = [reading.getUTCDate(), reading.getUTCDay()];
  const left = cron.lastDay || cron.nth.length > 0 ? new Date(Date.UTC(reading.getUTCFullYear(), reading.getUTCMonth() + 1, 0)).getUTCDate() - day : 0;
  const byDay = cron.days[day] === true || (cron.lastDay && left === 0);
  const byWeekday = cron.weekdays[weekday] === true || cron.nth.some((one) => one.weekday === weekday && isNth(one.ordinal, day, left));
  return cron.eitherDay ? byDay || byWeekday : byDay && byWeekday;
}

/** `left` days are left in the month. */
const isNth = (ordinal: number, day: number, left: number): boolean => (ordinal === 0 ? left < 7 : Math.ceil(day / 7) === ordinal);
