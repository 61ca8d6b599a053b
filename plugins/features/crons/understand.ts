import { codeOf, svcError } from "@svc/sdk";
import { readPhrase } from "./phrase.ts";

/** A schedule that was understood, with its zone and its next times in that zone. */
export interface Schedule {
  readonly expression: string;
  readonly timezone: string;
  readonly words: string;
  readonly next: readonly Date[];
}

/**
 * Understands a phrase or an expression, and sees that it comes at all. `fallback` is the zone where the phrase names none, UTC where that
 * is unset, too. Throws `SVC_SCHEDULE_UNCLEAR`, `SVC_SCHEDULE_ONCE`, `SVC_SCHEDULE_ZONE`, `SVC_SCHEDULE_NEVER` or `SVC_CRON_INVALID`.
 */
export async function understand(
  phrase: string,
  next: (expression: string, timezone: string) => Promise<readonly Date[]>,
  fallback?: string,
): Promise<Schedule> {
  const { expression, timezone: named, words } = await read(phrase, fallback);
  if (named !== undefined && fallback !== undefined && named.toLowerCase() !== fallback.toLowerCase())
    throw svcError("SVC_SCHEDULE_ZONE", `'${phrase}' names ${named}, and ${fallback} was given besides; name one time zone.`, { status: 400 });
  const timezone = named ?? fallback ?? "UTC";
  const times = await next(expression, timezone);
  if (times.length === 0) throw svcError("SVC_SCHEDULE_NEVER", `'${phrase}' is understood as ${expression}, which never comes.`, { status: 400 });
  return { expression, timezone, words: named === undefined ? `${words}, ${timezone}` : words, next: times };
}

/** A time as people read it, on the clocks of a zone: `Mon, 23 Nov 2026, 09:00 GMT+2`. An hour that comes twice is told apart by the offset. */
export const inZone = (time: Date, timezone: string): string =>
  new Intl.DateTimeFormat("en-GB", {
    timeZone: timezone,
    weekday: "short",
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "shortOffset",
  }).format(time);

/** A phrase that comes once is told apart from one that says nothing. */
async function read(phrase: string, zone: string | undefined) {
  try {
    return readPhrase(phrase);
  } catch (error) {
    if (codeOf(error) !== "SVC_SCHEDULE_UNCLEAR") throw error;
    const { momentIn } = await import("./phrase-once.js");
    const moment = momentIn(phrase, zone);
    if (moment === undefined) throw error;
    throw svcError(
      "SVC_SCHEDULE_ONCE",
      `'${phrase}' was not taken: it is understood as ${moment}, which comes once, and a schedule repeats. Say how often, such as 'every day at 9'.`,
      { status: 400 },
    );
  }
}
