import type { Budget } from "./budget.ts";
import { expressionError } from "./expression-error.ts";
import { type Builtin, builtinFunctions, REMOVED } from "./jsonata-library.ts";
import { underWay } from "./under-way.ts";

/** Of the pictures of numbers and dates: their reading is not linear. */
const MAX_PICTURE = 1_000;
/** A width of four digits in a picture of a date, such as `[Y,99999999]`. */
const WIDE = /,[^\]]*\d{4}/;
const MAX_ENTRIES = 100_000;

type Implementation = Builtin["implementation"];
type Before = (given: readonly unknown[], budget: Budget) => void;

/** The name of the function that stands in for the operator `&`: no expression can write it. */
export const CONCAT = "&";

/**
 * The built-in functions of JSONata with a guard each, by name: each looks at the clock before it begins and has its result weighed. What makes
 * much out of little is judged before, since nothing could catch the end of the memory afterwards.
 */
export async function guardedBuiltins(): Promise<ReadonlyMap<string, unknown>> {
  const builtins = await builtinFunctions();
  const original = (name: string): Implementation => (builtins.get(name) as Builtin).implementation;
  const asText = (value: unknown, self: unknown): string => {
    if (value === undefined) return "";
    if (typeof value === "string") return value;
    const { budget } = underWay();
    budget.text(budget.weigh(value).size);
    return original("string").call(self, value) as string;
  };
  const own: Readonly<Record<string, Implementation>> = {
    now: (picture, timezone) => original("fromMillis")(underWay().at, picture, timezone),
    millis: () => underWay().at,
    pad: (text, width, fill) => padded(text, width, fill, underWay().budget),
    // A time without a day is one of the day of the claim.
    toMillis: (text, picture) => original("toMillis").call({ environment: { timestamp: new Date(underWay().at) } }, text, picture),
    sort: (list, comparator) => sorted(list, comparator as Comparator | undefined, underWay().budget),
    distinct: (list) => distinct(list, (value) => canonical(value, underWay().budget)),
    spread: (value) => spread(value),
  };
  const bound = new Map<string, unknown>();
  for (const [name, builtin] of builtins) bound.set(name, guarded(builtin, own[name] ?? builtin.implementation, BEFORE[name]));
  for (const name of REMOVED) bound.set(name, { _jsonata_function: true, implementation: removed(name) });
  const concat = function (this: unknown, left: unknown, right: unknown) {
    const [one, two] = [asText(left, this), asText(right, this)];
    underWay().budget.text(one.length + two.length);
    return one + two;
  };
  bound.set(CONCAT, { _jsonata_function: true, implementation: concat });
  return bound;
}

function guarded({ implementation, signature }: Builtin, does: Implementation, before: Before | undefined): Builtin {
  const guard = function (this: unknown, ...given: unknown[]) {
    const { budget } = underWay();
    budget.alive();
    before?.(given, budget);
    const result = does.apply(this, given);
    if (!isPromise(result)) return weighed(result, budget);
    return result.then((value) => weighed(value, budget));
  };
  // JSONata reads the names and the number of the parameters where a function is given as a value.
  Object.defineProperty(guard, "length", { value: implementation.length });
  Object.defineProperty(guard, "toString", { value: () => implementation.toString() });
  return { _jsonata_function: true, implementation: guard, ...(signature === undefined ? {} : { signature }) };
}

function weighed(value: unknown, budget: Budget): unknown {
  budget.made(value);
  return value;
}

const isPromise = (value: unknown): value is Promise<unknown> => value instanceof Promise;
const removed = (name: string) => () => {
  throw expressionError("EXPR_PARSE", `$${name} is not available in workflows.`);
};

const picture =
  (index: number): Before =>
  (given) => {
    const text = given[index];
    if (typeof text !== "string") return;
    if (text.length > MAX_PICTURE) throw expressionError("EXPR_SIZE", `A picture of a number or date has at most ${MAX_PICTURE} characters.`);
    if (WIDE.test(text)) throw expressionError("EXPR_SIZE", "A picture of a date asks for a width of more than 999 characters.");
  };

/** Checks before a function runs. */
const BEFORE: Readonly<Record<string, Before>> = {
  string([value, prettify], budget) {
    if (typeof value === "string" || value === undefined) return;
    const { size, depth } = budget.weigh(value);
    // Indented, every entry begins a line with two spaces a level.
    budget.text(prettify === true ? size * (1 + depth) : size);
  },
  clone: ([value], budget) => budget.text(value === undefined ? 0 : budget.weigh(value).size),
  join([list, separator], budget) {
    const between = typeof separator === "string" ? separator.length : 0;
    if (Array.isArray(list)) budget.text(list.reduce((sum: number, text) => sum + between + (typeof text === "string" ? text.length : 0), 0));
  },
  base64encode: ([text], budget) => budget.text(typeof text === "string" ? (text.length * 4) / 3 : 0),
  encodeUrl: ([text], budget) => budget.text(typeof text === "string" ? text.length : 0),
  split([text, separator], budget) {
    budget.alive();
    if (typeof text === "string" && separator === "" && text.length > MAX_ENTRIES) throw tooMany();
  },
  formatNumber: picture(1),
  formatInteger([value, ...rest], budget) {
    if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw expressionError("EXPR_SIZE", "$formatInteger writes whole numbers up to 9007199254740991.");
    // Roman numerals of a million begin with a thousand letters.
    if (typeof value === "number" && Math.abs(value) > 1_000_000 && /^i/i.test(String(rest[0])))
      throw expressionError("EXPR_SIZE", "$formatInteger writes roman numerals up to 1000000.");
    picture(0)(rest, budget);
  },
  parseInteger: picture(1),
  now: picture(0),
  fromMillis: picture(1),
  toMillis(given, budget) {
    picture(1)(given, budget);
    const [text, form] = given;
    if (typeof text === "string" && text.length > MAX_PICTURE)
      throw expressionError("EXPR_SIZE", `$toMillis reads texts of at most ${MAX_PICTURE} characters.`);
    if (typeof form === "string" && isAmbiguous(form))
      throw expressionError(
        "EXPR_ERROR",
        "$toMillis cannot tell where a part of its picture ends; write a sign that is neither a letter nor a digit between the parts.",
      );
  },
};

/** Parts of a date that are names unless the picture says otherwise. */
const NAMES = "FPCE";

/**
 * Whether two parts of a picture could share the same characters. JSONata makes a regular expression of JavaScript from it, which tries every
 * way to share them: 60 digits for seven parts are hours.
 */
function isAmbiguous(form: string): boolean {
  const parts = [...form.replaceAll(/\s/g, " ").matchAll(/\[([^\]]*)\]([^[]*)/g)];
  return parts.some(([, marker = "", literal = ""], at) => {
    if (at === parts.length - 1 && literal === "") return false;
    const [component = "", presentation = ""] = [marker[0], marker.slice(1).split(",")[0]];
    const letters = presentation === "" ? NAMES.includes(component) : /[a-z]/i.test(presentation.replace(/o$/, ""));
    if (literal === "") return letters;
    if (!letters) return /^\d/.test(literal);
    // Spelled numbers hold spaces, commas and hyphens themselves.
    return /w/i.test(presentation) ? /^[\p{L}\s,-]/u.test(literal) : /^\p{L}/u.test(literal);
  });
}

/** JSONata's own makes a text as long as the width times the filling, and a list of its characters. */
function padded(text: unknown, width: unknown, fill: unknown, budget: Budget): unknown {
  if (typeof text !== "string" || typeof width !== "number") return undefined;
  const filling = typeof fill === "string" && fill !== "" ? [...fill] : [" "];
  const missing = Math.floor(Math.abs(width)) - [...text].length;
  if (!(missing > 0)) return text;
  budget.text(missing + text.length);
  const padding = filling.join("").repeat(Math.floor(missing / filling.length)) + filling.slice(0, missing % filling.length).join("");
  return width > 0 ? text + padding : padding + text;
}

const tooMany = () => expressionError("EXPR_SIZE", `An expression makes a list of more than ${MAX_ENTRIES} entries.`);

type Comparator = (a: unknown, b: unknown) => unknown;

/** JSONata's own sorts by a recursion that keeps every rest of the list: of 100,000 entries more than there is memory. */
async function sorted(list: unknown, comparator: Comparator | undefined, budget: Budget): Promise<unknown> {
  if (!Array.isArray(list) || list.length <= 1) return list;
  if (comparator === undefined) {
    const kind = typeof list[0];
    if ((kind !== "number" && kind !== "string") || list.some((value) => typeof value !== kind))
      throw expressionError("EXPR_TYPE", "$sort of a list that is neither all numbers nor all texts needs a function that compares two entries.");
    return [...list].sort((a, b) => (a > b ? 1 : a < b ? -1 : 0));
  }
  let from: unknown[] = [...list];
  let to: unknown[] = new Array(list.length);
  for (let width = 1; width < from.length; width *= 2) {
    for (let start = 0; start < from.length; start += 2 * width) {
      const middle = Math.min(start + width, from.length);
      const end = Math.min(start + 2 * width, from.length);
      let [left, right] = [start, middle];
      for (let place = start; place < end; place++) {
        budget.alive();
        const takeRight = left >= middle || (right < end && (await comparator(from[left], from[right])) === true);
        to[place] = takeRight ? from[right++] : from[left++];
      }
    }
    [from, to] = [to, from];
  }
  return from;
}

/** JSONata's own compares each entry with each one before it. */
function distinct(list: unknown, keyOf: (value: unknown) => string): unknown {
  if (!Array.isArray(list) || list.length <= 1) return list;
  const seen = new Map<string, unknown>();
  for (const value of list) {
    const key = keyOf(value);
    if (!seen.has(key)) seen.set(key, value);
  }
  const result = [...seen.values()];
  return Object.assign(result, "sequence" in list ? { sequence: true } : {});
}

/** JSON with sorted keys: the same for equal values. */
function canonical(value: unknown, budget: Budget): string {
  budget.alive();
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  budget.text(budget.weigh(value).size);
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** JSONata's own copies the whole list for each entry. */
function spread(value: unknown): unknown {
  if (!Array.isArray(value)) {
    if (typeof value !== "object" || value === null || "_jsonata_lambda" in value) return value;
    return Object.assign(
      Object.entries(value).map(([key, part]) => Object.assign(Object.create(null) as object, { [key]: part })),
      { sequence: true },
    );
  }
  const parts = value.flatMap((entry) => spread(entry) as unknown);
  if (parts.length > MAX_ENTRIES) throw tooMany();
  return Object.assign(parts, { sequence: true });
}
