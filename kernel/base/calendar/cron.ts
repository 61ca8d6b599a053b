import { fail } from "../errors.ts";

/** A parsed 5-field expression: for each field, which values match. */
export interface Cron {
  readonly minutes: readonly boolean[];
  readonly hours: readonly boolean[];
  readonly days: readonly boolean[];
  readonly months: readonly boolean[];
  readonly weekdays: readonly boolean[];
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

/** Parse exactly five fields: numbers, names, lists, ranges and steps. Throws `SVC_CRON_INVALID` naming the field. */
export function parseCron(expression: string): Cron {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== 5) {
    throw fail("SVC_CRON_INVALID", { expression, reason: `it has ${parts.length} fields; write five: minute, hour, day of month, month, day of week` });
  }
  const [minutes, hours, days, months, week] = FIELDS.map((field, at) => parseField(parts[at] as string, field, expression)) as [
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
  return { minutes, hours, days, months, weekdays, eitherDay: !dayText.startsWith("*") && !weekText.startsWith("*"), everyHour: hourText.startsWith("*") };
}

function parseField(text: string, field: Field, expression: string): boolean[] {
  const { name, min, max } = field;
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

/** Does the calendar day match? `weekday` is 0 for Sunday. */
export function dayMatches(cron: Cron, month: number, day: number, weekday: number): boolean {
  if (!cron.months[month]) return false;
  const byDay = cron.days[day] === true;
  const byWeekday = cron.weekdays[weekday] === true;
  return cron.eitherDay ? byDay || byWeekday : byDay && byWeekday;
}
