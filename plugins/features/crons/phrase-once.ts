import { parse } from "chrono-node";
import { repeats } from "./phrase-spoken.ts";

/** Returns the moment that a phrase means, if it means one: `tomorrow at 9`. A bare time of day does not. */
export function momentIn(phrase: string, timezone = "UTC", now = new Date()): string | undefined {
  if (repeats(phrase)) return undefined;
  const [found, ...more] = parse(phrase, now, { forwardDate: true });
  if (found === undefined || more.length > 0) return undefined;
  const { start } = found;
  const isDated = start.isCertain("day") || start.isCertain("weekday") || start.isCertain("month");
  if (!isDated) return undefined;
  const two = (part: number | null) => String(part ?? 0).padStart(2, "0");
  const day = `${start.get("year")}-${two(start.get("month"))}-${two(start.get("day"))}`;
  return start.isCertain("hour") ? `${day} ${two(start.get("hour"))}:${two(start.get("minute"))}` : `${day} (${timezone})`;
}
