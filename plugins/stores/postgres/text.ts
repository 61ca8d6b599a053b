import { createHash } from "node:crypto";
import { fail } from "./errors.ts";

const NAME = /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/;
const FIELD = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$/;
/** Bytes of a key: an index of the server holds no more than 2,704 with all that stands beside it. */
const KEY_BYTES = 1_500;
/** Characters by which long texts of a field are ordered; beyond them they are told apart and no more. */
const ORDERED = 300;
const ESCAPED = /[\0\u0001]/g;

/** `name` itself. Throws `SVC_STORE_NAME` for one that cannot name stored state. */
export function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw fail("SVC_STORE_NAME", { name });
}

/** `field` itself. Throws `SVC_STORE_NAME` for a text that names no field. */
export function checkedField(collection: string, field: string): string {
  if (FIELD.test(field)) return field;
  throw fail("SVC_STORE_NAME", { name: `${collection}.${field}` });
}

/** A text as the server takes it, which knows neither NUL nor half a character; the order of any two stays as it is. */
export function storedText(text: string): string {
  const whole = text.toWellFormed();
  return ESCAPED.test(whole) ? whole.replace(ESCAPED, (found) => (found === "\0" ? "\u0001\u0001" : "\u0001\u0002")) : whole;
}

/** The text that `storedText` made this of. */
export function readText(stored: string): string {
  return stored.includes("\u0001") ? stored.replace(/\u0001([\u0001\u0002])/g, (_, mark: string) => (mark === "\u0001" ? "\0" : "\u0001")) : stored;
}

/** A key as the server takes it. Throws `SVC_STORE_VALUE` for one that is too long. */
export function storedKey(collection: string, key: string): string {
  const stored = storedText(key);
  if (Buffer.byteLength(stored) <= KEY_BYTES) return stored;
  throw fail("SVC_STORE_VALUE", { collection, key: `${key.slice(0, 40)}...`, reason: `its key is longer than ${KEY_BYTES} bytes` });
}

/** The value of an indexed field as the server takes it: a long text is cut, with a hash of all of it behind. */
export function storedField(value: string | number): string | number {
  if (typeof value === "number" || value.length <= ORDERED) return typeof value === "number" ? value : storedText(value);
  return `${storedText(value.slice(0, ORDERED))}\u0001\u0003${createHash("sha256").update(value).digest("hex")}`;
}

/** `value` as JSON text. Throws `SVC_STORE_VALUE` for what has none: undefined, a cycle, a bigint. */
export function jsonText(value: unknown, collection: string, key: string): string {
  let reason = "it is undefined or a function";
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (error) {
    reason = (error as Error).message;
  }
  throw fail("SVC_STORE_VALUE", { collection, key, reason: `it has no JSON: ${reason}` });
}

/** At most 1000 rows an answer, whatever was asked for. */
export function rowLimit(limit = 100): number {
  return Math.max(0, Math.min(1000, Math.trunc(limit)));
}
