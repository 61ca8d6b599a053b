/** Names and days of the months, of February in a leap year. */
const MONTHS = { jan: 31, feb: 29, mar: 31, apr: 30, may: 31, jun: 30, jul: 31, aug: 31, sep: 30, oct: 31, nov: 30, dec: 31 };
const NAMES = Object.keys(MONTHS);
const DAYS = Object.values(MONTHS);
/** Number of values of each field. */
const SIZES = [60, 24, 31, 12, 7];
const FIELDS = ["minute", "hour", "day of month", "month", "day of week"];

/** What a valid expression of five fields says that nobody means; undefined for any other. */
export function remarkOn(schedule: string): string | undefined {
  const fields = schedule.trim().split(/\s+/);
  for (const [at, field] of fields.entries()) {
    const step = field
      .split(",")
      .map((part) => Number(part.split("/")[1] ?? 0))
      .find((found) => found > (SIZES[at] as number));
    if (step !== undefined) return `has a step of ${step} in the field ${FIELDS[at]}, which has ${SIZES[at]} values: only the first one counts`;
  }
  return neverComes(fields) ? "never comes: none of its months has such a day" : undefined;
}

/** Only days of the month can be absent from a year, and only where nothing else chooses days. */
function neverComes([, , days = "*", months = "*", week = "*"]: readonly string[]): boolean {
  if (!week.startsWith("*") || /[*l]/i.test(days)) return false;
  const first = Math.min(...days.split(",").map((part) => Number.parseInt(part, 10)));
  return !daysOf(months).some((last) => first <= last);
}

/** The number of days of each month that a field names. A step among months leaves the first of them; the rest is not looked at. */
function daysOf(months: string): readonly number[] {
  if (months.includes("*")) return DAYS;
  return months.split(",").flatMap((part) => {
    const [from = "", to = from] = (part.split("/")[0] as string).split("-");
    return DAYS.slice(monthOf(from) - 1, part.includes("/") && !part.includes("-") ? 12 : monthOf(to));
  });
}

const monthOf = (text: string): number => (/^\d+$/.test(text) ? Number(text) : NAMES.indexOf(text.toLowerCase()) + 1);
