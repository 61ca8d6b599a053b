import type { SvcError } from "@svc/sdk";
import { svcError } from "@svc/sdk";

/** Named arguments of a call or notification: undefined ones are omitted. */
export type Args = Readonly<Record<string, unknown>>;

/** Origin of a call or notification: a call of ours that the other side serves, a root that it named, or a root that it began. */
export type Origin = number | { readonly rootId: string; readonly parentId?: string } | { readonly begun: string };

/** An error on the wire: its words and its plain facts (`code`, `failure`, `status` ...), never a stack. */
export type WireError = Readonly<Record<string, string | number | boolean>> & { readonly message: string };

/**
 * Frames between the daemon and an isolated plugin, one per line of JSON. `call` is answered by one `done` or `fail`, a `stream` by items before it:
 * each side sends `WINDOW` of them, then waits for `more`. `stop` aborts the signal of a call, `quit` reports that its items are no longer read.
 * `notify` has no answer.
 */
export type Frame =
  | { readonly is: "call" | "stream"; readonly id: number; readonly on: string; readonly args: Args; readonly of?: Origin }
  | { readonly is: "stop" | "quit" | "more"; readonly id: number }
  | { readonly is: "done"; readonly id: number; readonly value?: unknown }
  | { readonly is: "item"; readonly id: number; readonly value?: unknown }
  | { readonly is: "fail"; readonly id: number; readonly error: WireError }
  | { readonly is: "notify"; readonly on: string; readonly args: Args; readonly of?: Origin };

/** Items of a stream that may be on their way; `more` allows half as many again. */
export const WINDOW = 64;

/** No document of a person has a key that begins so. */
const BYTES = "\u0000bytes";
const NUMBER = "\u0000number";
/** Patterns that need a closer look: bytes, numbers without a JSON form, and a key that changes an object's prototype, also with escaped letters. */
const SPECIAL = /\\u0000(?:bytes|number)|__proto__|\\u00[2-7]/i;
const LONGEST_WORDS = 4_000;
const MOST_FACTS = 16;

/** Serialises a frame to a line. Bytes become base64; NaN and the infinities, which JSON turns into null, their names. Throws for values without a JSON form, such as cycles. */
export function writeFrame(frame: Frame): string {
  return JSON.stringify(frame, function (this: Record<string, unknown>, key, value) {
    // `JSON.stringify` has already called `toJSON` of a Buffer: read the original value.
    const given = this[key];
    if (typeof given === "number" && !Number.isFinite(given)) return { [NUMBER]: String(given) };
    return given instanceof Uint8Array ? { [BYTES]: Buffer.from(given.buffer, given.byteOffset, given.byteLength).toString("base64") } : value;
  });
}

/** A line as a frame. Throws for a line that is not a frame. */
export function readFrame(line: string): Frame {
  const frame = parse(line);
  if (frame === null || typeof frame !== "object" || !hasShape(frame)) throw new Error("a line that is no frame");
  return frame;
}

/** The error must not quote the line: it may contain a secret. */
function parse(line: string): Frame | null {
  try {
    return JSON.parse(line, SPECIAL.test(line) ? revive : undefined) as Frame | null;
  } catch {
    return null;
  }
}

function revive(key: string, value: unknown): unknown {
  if (key === "__proto__") return undefined;
  const { [BYTES]: text, [NUMBER]: number } = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  if (typeof number === "string") return Number(number);
  return typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : value;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);

function hasShape(frame: Frame): boolean {
  if (frame.is !== "notify" && !Number.isSafeInteger(frame.id)) return false;
  switch (frame.is) {
    case "call":
    case "stream":
    case "notify":
      return typeof frame.on === "string" && isObject(frame.args) && isOrigin(frame.of);
    case "fail":
      return isObject(frame.error) && typeof frame.error.message === "string";
    case "stop":
    case "quit":
    case "more":
    case "done":
    case "item":
      return true;
    default:
      return false;
  }
}

function isOrigin(of: unknown): boolean {
  if (of === undefined || typeof of === "number") return true;
  if (!isObject(of)) return false;
  const { rootId, parentId, begun } = of as Record<string, unknown>;
  return typeof begun === "string" || (typeof rootId === "string" && (parentId === undefined || typeof parentId === "string"));
}

/** Serializes an error: message and plain properties. The thrown value may be anything. */
export function writeError(error: unknown): WireError {
  try {
    if (!(error instanceof Error)) return { message: String(error).slice(0, LONGEST_WORDS) };
    const facts = Object.entries(error).filter(
      ([name, value]) =>
        name !== "stack" &&
        name !== "message" &&
        (typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length < 500)),
    );
    return { ...Object.fromEntries(facts.slice(0, MOST_FACTS)), message: String(error.message).slice(0, LONGEST_WORDS) };
  } catch {
    return { message: "something without words" };
  }
}

/** Recreates the error with its facts; `where` replaces the other side's stack. `SVC_ISOLATION_DOWN` is only created on this side. */
export function readError({ message, ...facts }: WireError, where: string): Error {
  const { code, ...rest } = facts;
  const plain = Object.fromEntries(Object.entries(rest).filter(([name]) => name !== "stack" && name !== "name" && name !== "cause"));
  const error: Error | SvcError =
    typeof code === "string" && code !== "SVC_ISOLATION_DOWN" ? svcError(code, message, plain) : Object.assign(new Error(message), plain);
  error.stack = `${message}\n    ${where}`;
  return error;
}
