import type { Schema } from "../config.ts";

/** A copy of `value` with the defaults of its schema filled in, as the daemon hands a section to its plugin. */
export function withDefaults(schema: Schema | undefined, value: unknown): unknown {
  if (value === undefined) return schema?.default === undefined ? undefined : structuredClone(schema.default);
  if (Array.isArray(value)) return value.map((item) => withDefaults(schema?.items, item));
  if (typeof value !== "object" || value === null) return value;
  const { properties = {}, additionalProperties } = schema ?? {};
  const others = typeof additionalProperties === "object" ? additionalProperties : undefined;
  const filled: [string, unknown][] = [];
  for (const key of new Set([...Object.keys(value), ...Object.keys(properties)])) {
    const inner = withDefaults(Object.hasOwn(properties, key) ? properties[key] : others, (value as Record<string, unknown>)[key]);
    if (inner !== undefined) filled.push([key, inner]);
  }
  return Object.fromEntries(filled);
}
