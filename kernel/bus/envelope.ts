import { randomBytes } from "node:crypto";

/** Summaries have at most this many code points (000:L274). */
export const SUMMARY_LIMIT = 280;

/** Cut to 280 code points, never inside a surrogate pair. */
export function cutSummary(text: string): string {
  // A string of UTF-16 units within the limit is within it in code points, too.
  if (text.length <= SUMMARY_LIMIT) return text;
  const points = [...text];
  return points.length <= SUMMARY_LIMIT ? text : `${points.slice(0, SUMMARY_LIMIT - 1).join("")}…`;
}

/** Ids say which boot made them and in which order: `evt_<boot>_<sequence>`. Sequence numbers grow by one. */
export interface EventIds {
  next(): string;
}

export function createEventIds(boot = randomBytes(5).toString("hex")): EventIds {
  const prefix = `evt_${boot}_`;
  let sequence = 0;
  return {
    next() {
      sequence += 1;
      return prefix + sequence.toString(36);
    },
  };
}

/** Has it the form of an event id, whoever made it? Anything else may be a time. */
export const isEventId = (text: string): boolean => /^evt_[0-9a-f]{10}_[0-9a-z]+$/.test(text);

/** Strictly ISO 8601 with a date and a time, or a date alone: `Date.parse` takes far more. Undefined when it is none. */
export function isoTime(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}

/** The current time in ISO 8601, formatted at most once a millisecond. */
export function createClock(now: () => number): () => string {
  let last = -1;
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
