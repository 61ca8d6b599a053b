import type { Schema } from "@svc/sdk";
import { isComposed } from "./schema-walk.ts";

/**
 * The same schema with every object shut against keys it does not list, unless it says otherwise itself. Branches of
 * `allOf`, `if`, `then`, `else` and `not` speak about a part of the object and stay open. With `bare` as `open`, an object that lists
 * nothing takes anything.
 */
export function closed<S extends Schema>(schema: S, bare: "shut" | "open" = "shut"): S {
  const shut: Record<string, unknown> = { ...(schema as Schema) };
  const { properties, additionalProperties, items, anyOf, oneOf } = schema;
  if (properties !== undefined) shut.properties = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, closed(inner, bare)]));
  const lists = properties !== undefined || (bare === "shut" && schema.type === "object" && !isComposed(schema));
  if (lists && additionalProperties === undefined) shut.additionalProperties = false;
  if (typeof additionalProperties === "object") shut.additionalProperties = closed(additionalProperties, bare);
  if (items !== undefined) shut.items = closed(items, bare);
  // Beside properties of its own, a branch lists only additional ones.
  if (properties === undefined) {
    if (anyOf !== undefined) shut.anyOf = anyOf.map((branch) => closed(branch, bare));
    if (oneOf !== undefined) shut.oneOf = oneOf.map((branch) => closed(branch, bare));
  }
  return shut as S;
}
