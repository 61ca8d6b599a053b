import { createHash } from "node:crypto";
import type { Outgoing } from "@svc/sdk";
import { MOST_PLAIN } from "./encryption.ts";

/** Characters of a notice that are kept for the page on the phone. */
const MOST_KEPT = 60_000;

/** Words for phones, as they are stored and shown on the page. */
export interface Notice {
  /** Of the delivery: the same over retries, so that a phone shows it once. */
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly at: number;
  readonly title: string;
  readonly text: string;
  /** 1 (lowest) to 5. */
  readonly priority?: number;
}

/** The notice of a delivery. */
export function noticeOf({ key, title, text, agent, priority }: Pick<Outgoing, "key" | "title" | "text" | "agent" | "priority">, at: number): Notice {
  return {
    id: createHash("sha256").update(key).digest("base64url").slice(0, 24),
    at,
    title: title ?? agent ?? "svc",
    text: cut(text, MOST_KEPT),
    ...(priority === undefined ? {} : { priority }),
  };
}

/**
 * Returns the payload for the phone, at most `most` bytes of JSON: a longer text is truncated and marked as `more`; the page behind the notice has
 * all of it.
 */
export function payloadOf({ id, at, title, text }: Notice, most: number = MOST_PLAIN): Buffer {
  const whole = encode({ id, at, title, text });
  if (whole.length <= most) return whole;
  const short = cut(title, 100);
  // Escapes make a character longer than its UTF-8, so the room is found by halving.
  const fit = (room: number) => room <= text.length && encode({ id, at, title: short, text: cut(text, room), more: true }).length <= most;
  let fits = 0;
  for (let step = 2 ** Math.ceil(Math.log2(text.length)); step >= 1; step /= 2) if (fit(fits + step)) fits += step;
  return encode({ id, at, title: short, text: cut(text, fits), more: true });
}

const encode = (value: object): Buffer => Buffer.from(JSON.stringify(value));

/** The first characters, with an ellipsis where there are more; a pair of surrogates is not cut apart. */
const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1)).replace(/[\uD800-\uDBFF]$/, "")}…`);
