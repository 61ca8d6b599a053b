import { storedField } from "./text.ts";

/** The value of a field as a row of `doc_field` has it. */
export interface FieldRow {
  readonly kind: number;
  readonly num: number;
  readonly txt: string;
}

/** Values that are bound to a statement, the collection first. */
export interface Binds {
  readonly values: readonly unknown[];
  /** Where the value stands: `$2`. */
  add(value: unknown): string;
  /** A row of the table `of` has this value. */
  equal(of: string, value: FieldRow): string;
  /** A row of the table `of` stands before or after this value, and after this key of it. */
  compare(of: string, comparison: "<" | ">" | ">=", value: FieldRow, key?: string): string;
}

/** Begins with the collection as `$1`. */
export function bindings(collection: string): Binds {
  const values: unknown[] = [collection];
  const add = (value: unknown) => `$${values.push(value)}`;
  const row = ({ kind, num, txt }: FieldRow) => `${add(kind)}::smallint, ${add(num)}::double precision, ${add(txt)}::text`;
  return {
    values,
    add,
    equal: (of, value) => `(${of}.kind, ${of}.num, ${of}.txt) = (${row(value)})`,
    compare(of, comparison, value, key) {
      const columns = `${of}.kind, ${of}.num, ${of}.txt`;
      if (key === undefined) return `(${columns}) ${comparison} (${row(value)})`;
      return `(${columns}, ${of}.key) ${comparison} (${row(value)}, ${add(key)}::text)`;
    },
  };
}

/** A value of a query or a document as its row. */
export function fieldValue(value: string | number): FieldRow {
  const stored = storedField(value);
  return typeof stored === "number" ? { kind: 0, num: stored, txt: "" } : { kind: 1, num: 0, txt: stored };
}

/** The text or number at a field, or at a path of fields, of a value; undefined for whatever else stands there. */
export function valueAt(value: unknown, field: string): string | number | undefined {
  let found = value;
  for (const part of field.split("."))
    found = typeof found === "object" && found !== null && Object.hasOwn(found, part) ? (found as Record<string, unknown>)[part] : undefined;
  return typeof found === "string" || (typeof found === "number" && Number.isFinite(found)) ? found : undefined;
}
