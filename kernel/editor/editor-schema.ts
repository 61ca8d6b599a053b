import type { ObjectSchema, Schema } from "@svc/sdk";
import { isRecord } from "../base/config-path.ts";
import { closed } from "../base/schema/closed.ts";

/** A JSON schema as editors read it: draft 2020-12, unknown keys underlined, our own keywords explained in the description. */
export function editorSchema(root: ObjectSchema): Readonly<Record<string, unknown>> {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "svc.json",
    description: "The configuration of svc. Strings may hold ${NAME} references to the environment.",
    ...(standard(closed(root)) as object),
  };
}

/** Without `secret`, `masked` and `restart`, which only svc knows. */
function standard(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(standard);
  if (!isRecord(value)) return value;
  const { secret, masked: _masked, restart, description, format, ...rest } = value as Schema;
  const words = [description, secret === true && "a credential: name an environment variable, as ${NAME}", restart === true && "a change waits for a restart"];
  const text = words.filter((word) => typeof word === "string").join("; ");
  const copy = Object.entries(rest).map(([key, inner]) => [key, LITERAL.has(key) ? inner : key === "properties" ? each(inner) : standard(inner)]);
  return {
    ...Object.fromEntries(copy),
    ...(format === undefined ? {} : { format: format === "url" ? "uri" : format }),
    ...(text === "" ? {} : { description: text }),
  };
}

/** Members that hold values, not schemas. */
const LITERAL: ReadonlySet<string> = new Set(["default", "enum", "const", "required"]);

/** A property may be called as a keyword is. */
const each = (properties: unknown): unknown =>
  Object.fromEntries(Object.entries(properties as Readonly<Record<string, unknown>>).map(([key, inner]) => [key, standard(inner)]));
