import type { Schema } from "@svc/sdk";

/** A schema with every branch that may speak about the same value. */
export function branches(schema: Schema): readonly Schema[] {
  const further = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), schema.then, schema.else];
  return [schema, ...further.flatMap((branch) => (branch === undefined ? [] : branches(branch)))];
}

/** Whether a schema names alternatives or parts instead of one shape. */
export const isComposed = ({ anyOf, oneOf, allOf }: Schema): boolean => anyOf !== undefined || oneOf !== undefined || allOf !== undefined;

/** Schema without constraints: for everything below a key that is accepted unchanged. */
const ANYTHING: Schema = {};

/** Returns the schemas of a value's member `key`: empty if it is unknown. `named` is false for an entry of a map or a list. */
export function member(schemas: readonly Schema[], key: string | number): { readonly schemas: readonly Schema[]; readonly named: boolean } {
  const found: Schema[] = [];
  let named = false;
  for (const schema of schemas.flatMap(branches)) {
    const { properties, additionalProperties, items } = schema;
    if (items !== undefined && /^\d+$/.test(String(key))) found.push(items);
    if (properties !== undefined && typeof key === "string" && Object.hasOwn(properties, key)) {
      found.push(properties[key] as Schema);
      named = true;
    } else if (typeof additionalProperties === "object") found.push(additionalProperties);
    else if (additionalProperties === true || (takesAnything(schema) && schemas.length === 1)) found.push(ANYTHING);
  }
  return { schemas: found, named };
}

/** A schema without a type accepts any value; an object without listed keys accepts no key at all, see `closed`. */
function takesAnything({ type, properties, additionalProperties, items, enum: values, ...rest }: Schema): boolean {
  const open = properties === undefined && additionalProperties === undefined && items === undefined && values === undefined;
  return open && !isComposed(rest) && (type === undefined || type === "array");
}

/** Where a change waits for a restart: paths with `*` for any key of a map and `[]` for any entry of a list. */
export function restartPaths(schema: Schema, at = ""): readonly string[] {
  if (schema.restart === true) return [at];
  const { properties = {}, additionalProperties, items } = schema;
  return [
    ...new Set([
      ...Object.entries(properties).flatMap(([key, inner]) => restartPaths(inner, at === "" ? key : `${at}.${key}`)),
      ...(typeof additionalProperties === "object" ? restartPaths(additionalProperties, `${at}.*`) : []),
      ...(items === undefined ? [] : restartPaths(items, `${at}[]`)),
      ...branches(schema)
        .slice(1)
        .flatMap((branch) => restartPaths(branch, at)),
    ]),
  ];
}
