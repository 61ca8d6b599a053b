import type { ObjectSchema, Schema } from "@svc/sdk";
import { branches, isComposed } from "../../base/schema/closed.ts";
import type { ConfigPath } from "./path.ts";
import { nearest } from "./suggest.ts";

/** Says nothing about a value: what stands below a key that is taken as it is. */
const ANYTHING: Schema = {};

/** What the schemas of a value say about its member `key`: empty when they do not know it. `named` is false for an entry of a map or a list. */
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

/** A schema without a type takes what comes; an object that lists nothing takes no key at all, see `closed`. */
function takesAnything({ type, properties, additionalProperties, items, enum: values, ...rest }: Schema): boolean {
  const open = properties === undefined && additionalProperties === undefined && items === undefined && values === undefined;
  return open && !isComposed(rest) && (type === undefined || type === "array");
}

/** The schemas that speak about the value at `path`; empty when there is no such setting. */
export function schemasAt(root: ObjectSchema, path: ConfigPath): readonly Schema[] {
  let schemas: readonly Schema[] = [root];
  for (const segment of path) schemas = member(schemas, segment).schemas;
  return schemas;
}

/** The keys that may stand in the object at `path`, with what is known of each: for completion and for suggestions. */
export function keysAt(root: ObjectSchema, path: ConfigPath): readonly { readonly key: string; readonly description?: string }[] {
  const keys = new Map<string, string | undefined>();
  for (const schema of schemasAt(root, path).flatMap(branches)) {
    for (const [key, { description }] of Object.entries(schema.properties ?? {})) keys.set(key, keys.get(key) ?? description);
  }
  return [...keys].map(([key, description]) => (description === undefined ? { key } : { key, description }));
}

/** The known setting whose name is nearest to the first unknown part of `path`, such as `maxConcurrent`; undefined when none is near. */
export function suggestion(root: ObjectSchema, path: ConfigPath): string | undefined {
  let depth = 0;
  while (depth < path.length && schemasAt(root, path.slice(0, depth + 1)).length > 0) depth += 1;
  return nearest(
    String(path[depth] ?? ""),
    keysAt(root, path.slice(0, depth)).map(({ key }) => key),
  );
}

/** The default that the schemas state for the setting at `path`; undefined without one. */
export function defaultAt(root: ObjectSchema, path: ConfigPath): unknown {
  return schemasAt(root, path).find((schema) => schema.default !== undefined)?.default;
}

/** Is a setting, or what it stands in, marked as read by nothing? */
export function isUnread(root: ObjectSchema, path: ConfigPath): boolean {
  return path.some((_, index) =>
    schemasAt(root, path.slice(0, index + 1))
      .flatMap(branches)
      .some(({ unread }) => unread === true),
  );
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
