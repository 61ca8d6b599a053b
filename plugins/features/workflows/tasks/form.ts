import { type SvcError, svcError } from "@svc/sdk";
import { RE2JS } from "re2js";

/** What every field of a form has. */
interface AnyField {
  readonly name: string;
  readonly label?: string;
  readonly required?: boolean;
  readonly default?: unknown;
  readonly help?: string;
}

/** One of the answers of a `select` or `multi-select`. */
export type FormOption = string | { readonly value: string; readonly label?: string };

/** A field of a form, of one of seven kinds. */
export type FormField =
  | (AnyField & { readonly kind: "text" | "long-text"; readonly minLength?: number; readonly maxLength?: number; readonly pattern?: string })
  | (AnyField & { readonly kind: "number"; readonly min?: number; readonly max?: number; readonly integer?: boolean })
  | (AnyField & { readonly kind: "boolean" })
  | (AnyField & { readonly kind: "select"; readonly options: readonly FormOption[] })
  | (AnyField & { readonly kind: "multi-select"; readonly options: readonly FormOption[]; readonly min?: number; readonly max?: number })
  | (AnyField & { readonly kind: "date"; readonly min?: string; readonly max?: string });

/** What a filled-in form holds, by the names of its fields; a field that was not given and has no default is left out. */
export type FormValues = Readonly<Record<string, unknown>>;

/** What is wrong with a field. `unknown`: the form has none of that name. */
export type FormCode = "required" | "type" | "option" | "range" | "pattern" | "date" | "unknown";

/** Characters of the longest value, whatever the field says. */
const LONGEST = { text: 1_000, "long-text": 20_000 };
const LINE_BREAK = /[\n\r\u0085\u2028\u2029]/;

/** The value of an option. */
export const valueOf = (option: FormOption): string => (typeof option === "string" ? option : option.value);

/** What people read for an option. */
export const labelOf = (option: FormOption): string => (typeof option === "string" ? option : (option.label ?? option.value));

/**
 * Judges what somebody has filled in and resolves with the values, defaults included. Throws for the first bad field in the order of the
 * form, with status 400, its name as `field` and a `FormCode` as `code`; then for a value that the form has no field for.
 */
export function judgeForm(fields: readonly FormField[], given: Readonly<Record<string, unknown>>): FormValues {
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const value = Object.hasOwn(given, field.name) && !isBlank(given[field.name]) ? given[field.name] : field.default;
    if (isBlank(value) || (field.required === true && Array.isArray(value) && value.length === 0)) {
      if (field.required === true) throw formError(field.name, "required", `${nameOf(field)} must be given.`);
      continue;
    }
    judgeField(field, value);
    entries.push([field.name, value]);
  }
  const known = new Set(fields.map(({ name }) => name));
  const stranger = Object.keys(given).find((name) => !known.has(name));
  if (stranger !== undefined) {
    const names = fields.length === 0 ? "It has no fields." : `It has: ${[...known].join(", ")}.`;
    throw formError(stranger, "unknown", `The form has no field '${stranger.slice(0, 64)}'. ${names}`);
  }
  return Object.fromEntries(entries);
}

/**
 * What text stands for in a field: numbers, yes and no, and lists with commas between their options are typed by people on a command line
 * and in a chat. Text that stands for nothing comes back as it is, for `judgeForm` to refuse.
 */
export function readField(field: FormField, text: string): unknown {
  const plain = text.trim();
  if (field.kind === "number") return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : text;
  if (field.kind === "boolean") {
    if (/^(true|yes|y|on|1)$/i.test(plain)) return true;
    return /^(false|no|n|off|0)$/i.test(plain) ? false : text;
  }
  if (field.kind === "multi-select") {
    if (plain === "" || field.options.some((option) => valueOf(option) === plain)) return plain === "" ? [] : [plain];
    return plain.split(",").map((part) => part.trim());
  }
  return field.kind === "long-text" || field.kind === "text" ? text : plain;
}

/** The field whose answer alone ends the task with a press of a button: the only one that must be given, of kind `select`, with few options. */
export function buttonField(fields: readonly FormField[]): Extract<FormField, { kind: "select" }> | undefined {
  const asked = fields.filter(({ required, default: value }) => required === true && isBlank(value));
  const [only] = asked;
  return asked.length === 1 && only?.kind === "select" && only.options.length <= 7 ? only : undefined;
}

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === "";

const nameOf = ({ name, label }: FormField): string => (label === undefined || label === name ? `'${name}'` : `'${label}' (${name})`);

/** Throws what is wrong with the value of a field. */
function judgeField(field: FormField, value: unknown): void {
  if (field.kind === "text" || field.kind === "long-text") return judgeText(field, value);
  if (field.kind === "number") return judgeNumber(field, value);
  if (field.kind === "date") return judgeDate(field, value);
  if (field.kind === "boolean") return require(field, typeof value === "boolean", "type", "must be true or false");
  const values = field.options.map(valueOf);
  const offer = `must be one of: ${values.slice(0, 20).join(", ")}${values.length > 20 ? ", ..." : ""}`;
  if (field.kind === "select") {
    require(field, typeof value === "string", "type", offer);
    return require(field, values.includes(value as string), "option", offer);
  }
  require(field, Array.isArray(value) && value.every((one) => typeof one === "string"), "type", "must be a list of texts");
  const chosen = value as readonly string[];
  require(field, chosen.every((one) => values.includes(one)), "option", `: each ${offer}`);
  require(field, new Set(chosen).size === chosen.length, "option", "names an option twice");
  judgeRange(field, chosen.length, "options");
}

function judgeText(field: Extract<FormField, { kind: "text" | "long-text" }>, value: unknown): void {
  require(field, typeof value === "string", "type", "must be text");
  const text = value as string;
  require(field, field.kind === "long-text" || !LINE_BREAK.test(text), "type", "must not have line breaks");
  const most = Math.min(field.maxLength ?? LONGEST[field.kind], LONGEST[field.kind]);
  // Code points are at least half the units: what is far too long is not counted.
  const length = text.length > 2 * LONGEST["long-text"] ? text.length : [...text].length;
  judgeRange({ ...field, max: most, ...(field.minLength === undefined ? {} : { min: field.minLength }) }, length, "characters");
  if (field.pattern === undefined) return;
  let matches: boolean;
  try {
    matches = RE2JS.compile(RE2JS.translateRegExp(field.pattern)).test(text);
  } catch (error) {
    throw formError(field.name, "pattern", `${nameOf(field)} has a pattern that cannot be used: ${(error as Error).message}`);
  }
  require(field, matches, "pattern", `must match ${field.pattern}`);
}

function judgeNumber(field: Extract<FormField, { kind: "number" }>, value: unknown): void {
  require(field, typeof value === "number" && Number.isFinite(value), "type", "must be a number");
  require(field, field.integer !== true || Number.isInteger(value), "type", "must be a whole number");
  judgeRange(field, value as number, "");
}

function judgeDate(field: Extract<FormField, { kind: "date" }>, value: unknown): void {
  require(field, typeof value === "string", "type", "must be a day such as 2026-05-31");
  const day = value as string;
  require(field, isDay(day), "date", "must be a real day such as 2026-05-31");
  // Days of four-digit years compare as text.
  require(field, field.min === undefined || day >= field.min, "range", `must be ${field.min} or later`);
  require(field, field.max === undefined || day <= field.max, "range", `must be ${field.max} or earlier`);
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

function judgeRange(field: { readonly name: string; readonly label?: string; readonly min?: number; readonly max?: number }, size: number, unit: string): void {
  const words = unit === "" ? "be" : "have";
  const { min, max } = field;
  const bound = (least: string, limit: number | undefined) => `must ${words} ${least} ${limit}${unit === "" ? "" : ` ${unit}`}`;
  if (min !== undefined && size < min) throw formError(field.name, "range", `${nameOf(field as FormField)} ${bound("at least", min)}.`);
  if (max !== undefined && size > max) throw formError(field.name, "range", `${nameOf(field as FormField)} ${bound("at most", max)}.`);
}

function require(field: FormField, holds: boolean, code: FormCode, words: string): void {
  if (!holds) throw formError(field.name, code, `${nameOf(field)} ${words}.`.replace(" :", ":"));
}

const formError = (field: string, code: FormCode, message: string): SvcError => svcError(code, message, { status: 400, field });
