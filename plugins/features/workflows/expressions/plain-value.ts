import { isFunction, MAX_CHARACTERS, tooLarge } from "./budget.ts";
import { expressionError } from "./expression-error.ts";

const HOSTILE: ReadonlySet<string> = new Set(["__proto__", "prototype", "constructor"]);
const MAX_DEPTH = 200;

/** Counts what a template makes as a whole. */
export class Room {
  #left = MAX_CHARACTERS;

  /** Throws `EXPR_SIZE` when nothing is left. */
  take(characters: number): void {
    this.#left -= characters;
    if (this.#left < 0) throw tooLarge(`a result of more than ${MAX_CHARACTERS} characters`);
  }
}

/** Copies the result of an expression as plain JSON: JSONata's lists carry marks, and its values are those of the run. */
export function plainValue(value: unknown, room: Room, depth = 0): unknown {
  if (typeof value === "string") {
    room.take(value.length + 2);
    return value;
  }
  if (typeof value === "number" && !Number.isFinite(value)) throw expressionError("EXPR_TYPE", "An expression gives a number that is not finite.");
  if (typeof value === "function" || (typeof value === "object" && value !== null && isFunction(value)))
    throw expressionError("EXPR_TYPE", "An expression gives a function and not a value; is it called, as in $now()?");
  room.take(4);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) throw expressionError("EXPR_DEPTH", `An expression gives a value nested more than ${MAX_DEPTH} levels deep.`);
  if (Array.isArray(value)) return value.map((entry) => plainValue(entry, room, depth + 1) ?? null);
  const plain: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (HOSTILE.has(key)) throw expressionError("EXPR_TYPE", `An expression gives an object with the key ${key}, which is not taken.`);
    room.take(key.length + 3);
    if (inner !== undefined) plain[key] = plainValue(inner, room, depth + 1);
  }
  return plain;
}
