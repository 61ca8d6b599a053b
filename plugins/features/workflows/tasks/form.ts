import { type SvcError, svcError } from "@svc/sdk";
import { RE2JS } from "re2js";
import type { FormField } from "../engine/types.ts";

/** One of the answers of a `select` or `multi-select`. */
export type FormOption = NonNullable<FormField["options"]>[number];

/** Values of a filled-in form, by the names of its fields; a field without a value and a default is omitted. */
export type FormValues = Readonly<Record<string, unknown>>;

/** Error of a field. `unknown`: the form has no field of that name. */
export type FormCode = "required" | "type" | "option" | "range" | "pattern" | "date" | "unknown";

/** Characters of the longest value, whatever the field says. */
const LONGEST = { text: 1_000, long: 20_000 };
const LINE_BREAK = /[\n\r\u0085\u2028\u2029]/;

/** The value of an option. */
export const optionValue = (option: FormOption): string => (typeof option === "string" ? option : option.value);

/** Returns the label of an option. */
export const optionLabel = (option: FormOption): string => (typeof option === "string" ? option : (option.label ?? option.value));

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
 * Converts text to the type of a field: people type numbers, yes and no, and comma-separated options on a command line and in a chat. Invalid text is
 * returned unchanged, for `judgeForm` to refuse.
 */
export function readField(field: FormField, text: string): unknown {
  const plain = text.trim();
  if (field.kind === "number") return /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? Number(plain) : text;
  if (field.kind === "boolean") {
    if (/^(true|yes|y|on|1)$/i.test(plain)) return true;
    return /^(false|no|n|off|0)$/i.test(plain) ? false : text;
  }
  if (field.kind === "multi-select") {
    if (plain === "" || optionsOf(field).some((option) => optionValue(option) === plain)) return plain === "" ? [] : [plain];
    return plain.split(",").map((part) => part.trim());
  }
  return field.kind === "long-text" || field.kind === "text" ? text : plain;
}

/** The field whose answer alone ends the task with a press of a button: the only one that must be given, of kind `select`, with few options. */
export function buttonField(fields: readonly FormField[]): FormField | undefined {
  const asked = fields.filter(({ required, default: value }) => required === true && isBlank(value));
  const [only] = asked;
  return asked.length === 1 && only?.kind === "select" && optionsOf(only).length <= 7 ? only : undefined;
}

/** The answers that a `select` or `multi-select` offers. */
export const optionsOf = ({ options = [] }: FormField): readonly FormOption[] => options;

const isBlank = (value: unknown): boolean => value === undefined || value === null || value === "";

const nameOf = ({ name, label }: FormField): string => (label === undefined || label === name ? `'${name}'` : `'${label}' (${name})`);

/** Throws the error of a field's value. */
function judgeField(field: FormField, value: unknown): void {
  switch (field.kind) {
    case "number":
      judgeNumber(field, value);
      break;
    case "boolean":
      demand(field, typeof value === "boolean", "type", "must be true or false");
      break;
    case "select":
      judgeSelect(field, value);
      break;
    case "multi-select":
      judgeSelection(field, value);
      break;
    case "date":
      judgeDate(field, value);
      break;
    default:
      judgeText(field, value);
  }
}

function judgeSelect(field: FormField, value: unknown): void {
  demand(field, typeof value === "string", "type", offerOf(field));
  demand(
    field,
    optionsOf(field)
      .map(optionValue)
      .includes(value as string),
    "option",
    offerOf(field),
  );
}

function judgeSelection(field: FormField, value: unknown): void {
  demand(field, Array.isArray(value) && value.every((one) => typeof one === "string"), "type", "must be a list of texts");
  const chosen = value as readonly string[];
  const values = new Set(optionsOf(field).map(optionValue));
  demand(
    field,
    chosen.every((one) => values.has(one)),
    "option",
    `${offerOf(field)}, or several of them`,
  );
  demand(field, new Set(chosen).size === chosen.length, "option", "names an option twice");
  judgeRange(field, chosen.length, "options");
}

function offerOf(field: FormField): string {
  const values = optionsOf(field).map(optionValue);
  return `must be one of: ${values.slice(0, 20).join(", ")}${values.length > 20 ? ", ..." : ""}`;
}

function judgeText(field: FormField, value: unknown): void {
  demand(field, typeof value === "string", "type", "must be text");
  const text = value as string;
  demand(field, field.kind === "long-text" || !LINE_BREAK.test(text), "type", "must not have line breaks");
  const limit = field.kind === "text" ? LONGEST.text : LONGEST.long;
  const most = Math.min(field.maxLength ?? limit, limit);
  // Code points are at least half the code units: a far too long text is not counted.
  const length = text.length > 2 * LONGEST.long ? text.length : [...text].length;
  judgeRange(field, length, "characters", { min: field.minLength, max: most });
  if (field.pattern === undefined) return;
  let matches: boolean;
  try {
    matches = RE2JS.compile(RE2JS.translateRegExp(field.pattern)).test(text);
  } catch (error) {
    throw formError(field.name, "pattern", `${nameOf(field)} has a pattern that cannot be used: ${(error as Error).message}`);
  }
  demand(field, matches, "pattern", `must match ${field.pattern}`);
}

function judgeNumber(field: FormField, value: unknown): void {
  demand(field, typeof value === "number" && Number.isFinite(value), "type", "must be a number");
  demand(field, field.integer !== true || Number.isInteger(value), "type", "must be a whole number");
  judgeRange(field, value as number, "");
}

function judgeDate(field: FormField, value: unknown): void {
  demand(field, typeof value === "string", "type", "must be a day such as 2026-05-31");
  const day = value as string;
  demand(field, isDay(day), "date", "must be a real day such as 2026-05-31");
  // Days of four-digit years compare as text.
  demand(field, typeof field.min !== "string" || day >= field.min, "range", `must be ${field.min} or later`);
  demand(field, typeof field.max !== "string" || day <= field.max, "range", `must be ${field.max} or earlier`);
}

function isDay(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text);
}

function judgeRange(field: FormField, size: number, unit: string, { min, max }: { readonly min?: unknown; readonly max?: unknown } = field): void {
  const bound = (least: string, limit: unknown) => (unit === "" ? `must be ${least} ${limit}` : `must have ${least} ${limit} ${unit}`);
  demand(field, typeof min !== "number" || size >= min, "range", bound("at least", min));
  demand(field, typeof max !== "number" || size <= max, "range", bound("at most", max));
}

function demand(field: FormField, holds: boolean, code: FormCode, words: string): void {
  if (!holds) throw formError(field.name, code, `${nameOf(field)} ${words}.`);
}

const formError = (field: string, code: FormCode, message: string): SvcError => svcError(code, message, { status: 400, field });
