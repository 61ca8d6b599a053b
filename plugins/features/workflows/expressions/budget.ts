import { expressionError } from "./expression-error.ts";

/** Characters of a text that an expression makes, and of its result as JSON. */
export const MAX_CHARACTERS = 1_000_000;
/** JSON characters of a value that an expression puts together on its way: above all outputs of a run, far below what could end the process. */
const MAX_WEIGHT = 16_000_000;
/** Characters and entries that one evaluation may make, the ones it has dropped included: 200 ms are enough to fill the memory otherwise. */
const MAX_MADE = 20_000_000;
const MAX_DEPTH = 200;

interface Weight {
  readonly size: number;
  readonly depth: number;
}

/**
 * Remaining budget of one evaluation. A list that contains the same list twice costs nothing to create and doubles its size: 30 such steps exceed any
 * memory. So a value is weighed as it is built, by the weights of its parts.
 */
export class Budget {
  readonly #weights = new WeakMap<object, Weight>();
  readonly #ends: number;
  #made = 0;

  constructor(milliseconds: number) {
    this.#ends = Date.now() + milliseconds;
  }

  /** Throws when the time is over: for work that JSONata does not look after. */
  alive(): void {
    if (Date.now() > this.#ends) throw expressionError("EXPR_TIMEOUT", "An expression has not ended within 200 ms; work on less data, or do it in an action.");
  }

  /** Throws `EXPR_SIZE` for more characters than a text may have: asked before it is made. */
  text(characters: number): void {
    if (characters > MAX_CHARACTERS) throw tooLarge(`a text of ${Math.round(characters)} characters; at most ${MAX_CHARACTERS}`);
  }

  /** Counts a text or list that was made, and weighs a value. */
  made(value: unknown): void {
    if (typeof value === "string") {
      this.text(value.length);
      this.#count(value.length);
    } else if (typeof value === "object" && value !== null && !this.#weights.has(value)) {
      this.#count(Array.isArray(value) ? value.length : 1);
      this.weigh(value);
    }
  }

  /** Returns the approximate length of the value as JSON. Throws `EXPR_SIZE` for a value above the limit, `EXPR_DEPTH` for one nested too deep. */
  weigh(value: unknown): Weight {
    return this.#weigh(value, 0);
  }

  #count(amount: number): void {
    this.#made += amount;
    if (this.#made > MAX_MADE) throw tooLarge(`texts and lists of ${MAX_MADE} characters and entries together`);
  }

  #weigh(value: unknown, level: number): Weight {
    if (typeof value === "string") return { size: value.length + 2, depth: 0 };
    if (typeof value !== "object" || value === null || isFunction(value)) return { size: 8, depth: 0 };
    const known = this.#weights.get(value);
    if (known !== undefined) return known;
    if (level > MAX_DEPTH) throw expressionError("EXPR_DEPTH", `An expression makes a value nested more than ${MAX_DEPTH} levels deep.`);
    let size = 2;
    let depth = 0;
    const add = (part: unknown, key: number) => {
      const inner = this.#weigh(part, level + 1);
      size += inner.size + key;
      depth = Math.max(depth, inner.depth);
      if (size > MAX_WEIGHT) throw tooLarge(`a value of more than ${MAX_WEIGHT} characters`);
    };
    if (Array.isArray(value)) for (const part of value) add(part, 1);
    else for (const key of Object.keys(value)) add((value as Record<string, unknown>)[key], key.length + 4);
    const weight = { size, depth: depth + 1 };
    if (weight.depth > MAX_DEPTH) throw expressionError("EXPR_DEPTH", `An expression makes a value nested more than ${MAX_DEPTH} levels deep.`);
    this.#weights.set(value, weight);
    return weight;
  }
}

/** A function of JSONata: one that the expression has written, or a built-in one. */
export const isFunction = (value: object): boolean => "_jsonata_lambda" in value || "_jsonata_function" in value || (typeof value as string) === "function";

/** `EXPR_SIZE`, for what an expression makes. */
export const tooLarge = (what: string): Error => expressionError("EXPR_SIZE", `An expression makes ${what}. Work on less data.`);
