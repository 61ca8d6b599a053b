import { randomBytes } from "node:crypto";

/** Summaries have at most this many code points (000:L274). */
export const SUMMARY_LIMIT = 280;

/** Cut to 280 code points, never inside a surrogate pair. */
export function cutSummary(text: string): string {
  // A string of UTF-16 units within the limit is within it in code points, too.
  if (text.length <= SUMMARY_LIMIT) return text;
  // A slice of twice the limit holds every code point that can count; the rest of a long text is not read.
  const points = [...text.slice(0, 2 * SUMMARY_LIMIT + 2)];
  return points.length <= SUMMARY_LIMIT ? text : `${points.slice(0, SUMMARY_LIMIT - 1).join("")}…`;
}

/** Makes ids that say which boot made them and in which order: `evt_<boot>_<sequence>`, sequence numbers in base 36. */
export function createEventIds(boot = randomBytes(5).toString("hex")): () => string {
  const prefix = `evt_${boot}_`;
  let sequence = 0;
  return () => {
    sequence += 1;
    return prefix + sequence.toString(36);
  };
}

/** Whether the text has the form of an event id, from this boot or any other, or of a row that a plugin published. */
export const isEventId = (text: string): boolean => /^(?:evt_[0-9a-f]{10}_[0-9a-z]{1,11}|(?!evt_)[a-z]+_[0-9a-z-]{10,64}:\d{1,11})$/.test(text);

const ISO = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/;

/**
 * The Unix milliseconds of a strict ISO 8601 date, or date and time; UTC where it names no offset. Undefined when it is not one:
 * `Date.parse` takes `"1"`, `"foo 2024"` and 30 February, too.
 */
export function isoTime(text: string): number | undefined {
  const found = ISO.exec(text);
  if (found === null) return undefined;
  const [, date = "", offset] = found;
  const midnight = Date.parse(`${date}T00:00:00Z`);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return undefined;
  const at = Date.parse(text.length === date.length || offset !== undefined ? text : `${text}Z`);
  return Number.isNaN(at) ? undefined : at;
}

/** The current time in ISO 8601, formatted at most once a millisecond. */
export function createClock(now: () => number): () => string {
  let last = Number.NaN;
  let text = "";
  return () => {
    const at = now();
    if (at !== last) {
      last = at;
      text = new Date(at).toISOString();
    }
    return text;
  };
}
