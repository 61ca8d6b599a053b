import type { Schema } from "@svc/sdk";
import { type PartProps, useForm } from "./form-context.ts";
import { type FormPath, isFields, pathText, valueAt, withValue } from "./form-path.ts";
import { FormRow } from "./form-row.tsx";
import { Group } from "./group.tsx";
import { kindOf } from "./schema-kinds.ts";

/** The fields of an object, one row each; those that are objects themselves as groups, after the others. Keys of the value that the schema does not know come last. */
export function ObjectFields({ schema, value, path, depth, onChange }: PartProps) {
  const { shows } = useForm();
  const properties = Object.entries(schema.properties ?? {});
  const fields = isFields(value) ? value : {};
  const unknown = Object.keys(fields).filter((key) => schema.properties?.[key] === undefined);
  const other: Schema = isFields(schema.additionalProperties) ? schema.additionalProperties : {};
  const all: readonly (readonly [string, Schema])[] = [...properties, ...unknown.map((key) => [key, other] as const)];
  const nests = ([key, inner]: readonly [string, Schema]) => ["object", "map"].includes(kindOf(inner, key)) && schema.properties?.[key] !== undefined;
  const isShown = ([key, inner]: readonly [string, Schema]) => hasShown(shows, [...path, key], inner);
  const change = (key: string) => (next: unknown) => onChange(withValue(value ?? {}, [key], next));
  const part = (key: string, inner: Schema) => ({ schema: inner, value: valueAt(value, [key]), path: [...path, key], depth: depth + 1, onChange: change(key) });
  return (
    <>
      {all
        .filter((one) => !nests(one) && isShown(one))
        .map(([key, inner]) => (
          <FormRow key={key} name={key} required={schema.required?.includes(key) === true} {...part(key, inner)} />
        ))}
      {all
        .filter((one) => nests(one) && isShown(one))
        .map(([key, inner]) => (
          <Group key={pathText([...path, key])} name={key} {...part(key, inner)} />
        ))}
    </>
  );
}

/** Whether something of a schema is shown: itself, or a field below it. */
export function hasShown(shows: (path: FormPath, schema: Schema) => boolean, path: FormPath, schema: Schema): boolean {
  if (shows(path, schema)) return true;
  if (kindOf(schema) !== "object") return false;
  return Object.entries(schema.properties ?? {}).some(([key, inner]) => hasShown(shows, [...path, key], inner));
}
