import type { ObjectSchema, Schema } from "@svc/sdk";
import type { ConfigPath } from "../base/config-path.ts";
import { nearest } from "../base/nearest.ts";
import { branches, member } from "../base/schema/schema-walk.ts";

/** Returns the schemas of the value at `path`; empty if there is no such setting. */
export function schemasAt(root: ObjectSchema, path: ConfigPath): readonly Schema[] {
  let schemas: readonly Schema[] = [root];
  for (const segment of path) schemas = member(schemas, segment).schemas;
  return schemas;
}

/** Returns the permitted keys of the object at `path`, with their descriptions: for completion and for suggestions. */
export function keysAt(root: ObjectSchema, path: ConfigPath): readonly { readonly key: string; readonly description?: string }[] {
  const keys = new Map<string, string | undefined>();
  for (const schema of schemasAt(root, path).flatMap(branches)) {
    for (const [key, { description }] of Object.entries(schema.properties ?? {})) keys.set(key, keys.get(key) ?? description);
  }
  return [...keys].map(([key, description]) => (description === undefined ? { key } : { key, description }));
}

/** Returns the known setting whose name is nearest to the first unknown part of `path`, such as `maxConcurrent`; undefined if none is near enough. */
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

/** Whether a setting, or one of its parents, is marked as unread. */
export function isUnread(root: ObjectSchema, path: ConfigPath): boolean {
  return path.some((_, index) =>
    schemasAt(root, path.slice(0, index + 1))
      .flatMap(branches)
      .some(({ unread }) => unread === true),
  );
}
