import { type Collection, type Op, put, svcError } from "@svc/sdk";
import { VALUE_CHARS } from "./input-schema.ts";
import { VALUES } from "./run-rows.ts";

/** Longer values, in characters of JSON, have a row of their own: the state of a run is written at each step. */
const SHELVED_CHARS = 65_536;
/** All outputs of a run together, in characters of JSON. */
const RUN_CHARS = 10_000_000;

const MARK = "$value";

interface Reference {
  readonly [MARK]: string;
}

const isReference = (value: unknown): value is Reference =>
  typeof value === "object" && value !== null && typeof (value as Reference)[MARK] === "string" && Object.keys(value).length === 1;

/**
 * The large values of one run. In its state and journal they stand as `{"$value": "<row>"}`; a value that itself has such a key is
 * shelved too, so that nothing from outside can pass for a reference.
 */
export class Shelf {
  readonly #runId: string;
  readonly #values: Collection<unknown>;
  readonly #known = new Map<string, unknown>();
  #ops: Op[] = [];
  chars: number;
  shelved: number;

  constructor(runId: string, values: Collection<unknown>, { chars, shelved }: { readonly chars: number; readonly shelved: number }) {
    this.#runId = runId;
    this.#values = values;
    this.chars = chars;
    this.shelved = shelved;
  }

  /** Returns the placeholder for the value in state and journal. Throws `VALUE_SIZE`. `counted`: it is an output, of which a run may have 10 MB. */
  put(value: unknown, counted = true): unknown {
    const text = JSON.stringify(value);
    if (text === undefined) return null;
    if (text.length > VALUE_CHARS) throw tooLarge(`a value of ${text.length} characters of JSON; at most ${VALUE_CHARS}`);
    if (counted && this.chars + text.length > RUN_CHARS) throw tooLarge(`outputs of more than ${RUN_CHARS} characters of JSON together`);
    if (counted) this.chars += text.length;
    if (text.length <= SHELVED_CHARS && !text.includes(`"${MARK}"`)) return value;
    this.shelved += 1;
    const key = `${this.#runId}/${String(this.shelved).padStart(6, "0")}`;
    this.#known.set(key, value);
    this.#ops.push(put(VALUES, key, value));
    return { [MARK]: key } satisfies Reference;
  }

  /** The value with the real ones in place of references, however deep they stand. Do not change it: parts are shared. */
  async whole(value: unknown): Promise<unknown> {
    if (typeof value !== "object" || value === null || this.shelved === 0) return value;
    if (isReference(value)) return this.#read(value[MARK]);
    if (Array.isArray(value)) return Promise.all(value.map((entry) => this.whole(entry)));
    const entries = await Promise.all(Object.entries(value).map(async ([key, entry]) => [key, await this.whole(entry)] as const));
    return Object.fromEntries(entries);
  }

  /** A value of another run, its large parts as rows of this one. */
  async adopt(value: unknown): Promise<unknown> {
    if (typeof value !== "object" || value === null) return value;
    if (isReference(value)) return this.put(await this.#read(value[MARK]), false);
    if (Array.isArray(value)) return Promise.all(value.map((entry) => this.adopt(entry)));
    return Object.fromEntries(await Promise.all(Object.entries(value).map(async ([key, entry]) => [key, await this.adopt(entry)] as const)));
  }

  /** The writes since the last commit. */
  ops(): readonly Op[] {
    return this.#ops;
  }

  /** The pending values are stored. */
  stored(): void {
    this.#ops = [];
  }

  async #read(key: string): Promise<unknown> {
    if (!this.#known.has(key)) this.#known.set(key, (await this.#values.get(key))?.value ?? null);
    return this.#known.get(key);
  }
}

const tooLarge = (what: string) => svcError("VALUE_SIZE", `The step makes ${what}. Keep it in a file and hand on its name.`);
