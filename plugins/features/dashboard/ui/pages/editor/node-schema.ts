import type { Schema } from "@svc/sdk";
import { EDITOR } from "../../words/editor.ts";

type Loose = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Loose => typeof value === "object" && value !== null && !Array.isArray(value);

/** Of several lines. */
const LONG: ReadonlySet<string> = new Set(["message", "detail", "description"]);
/** Fields that few need: they stand below the others. */
const RARE: readonly string[] = [
  "outputSchema",
  "freshSession",
  "contextStrategy",
  "timeoutMinutes",
  "idempotent",
  "retry",
  "timeout",
  "onInterrupted",
  "onExhausted",
  "maxVisits",
];
/** Any value. */
const ANY = { type: ["string", "object", "array", "number", "boolean"] };

/** The schema of one kind of node as forms take it: without what the page draws itself, references written out, with names and sentences. */
export function nodeSchema(schema: Loose, kind: string): { readonly own: Schema; readonly rare: Schema } | undefined {
  const definitions = isRecord(schema["$defs"]) ? schema["$defs"] : {};
  const node = isRecord(definitions["node"]) ? definitions["node"] : {};
  const branches = Array.isArray(node["oneOf"]) ? (node["oneOf"] as readonly Loose[]) : [];
  const branch = branches.find(({ properties }) => isRecord(properties) && isRecord(properties["kind"]) && properties["kind"]["const"] === kind);
  if (branch === undefined) return undefined;
  const properties = Object.entries(branch["properties"] as Loose).filter(([key]) => !["id", "kind", "label", "do"].includes(key));
  const required = ((branch["required"] ?? []) as readonly string[]).filter((key) => !["id", "kind", "do"].includes(key));
  const drawn = (wanted: (key: string) => boolean, needed: readonly string[]): Schema => ({
    type: "object",
    properties: Object.fromEntries(properties.filter(([key]) => wanted(key)).map(([key, inner]) => [key, formSchema(inner, definitions, kind, key)])),
    ...(needed.length > 0 ? { required: [...needed] } : {}),
  });
  // Required fields first: they are why the node is there.
  properties.sort(([one], [other]) => Number(required.includes(other)) - Number(required.includes(one)));
  return {
    own: drawn((key) => !RARE.includes(key) || (key === "timeout" && kind === "approval"), required),
    rare: drawn((key) => RARE.includes(key) && !(key === "timeout" && kind === "approval"), []),
  };
}

/** The schema of what stands at the top of a definition. */
export function workflowSchema(schema: Loose): Schema {
  const left = new Set(["id", "nodes", "edges", "generatedFrom", "confidence", "sourceTaskIds"]);
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const definitions = isRecord(schema["$defs"]) ? schema["$defs"] : {};
  return {
    type: "object",
    properties: Object.fromEntries(
      Object.entries(properties)
        .filter(([key]) => !left.has(key))
        .map(([key, inner]) => [key, formSchema(inner, definitions, "workflow", key)]),
    ),
  };
}

/** With references written out, and with words. Values of any kind may be of several types. */
function formSchema(given: unknown, definitions: Loose, kind: string, key: string): Schema {
  const schema = resolved(given, definitions);
  const words = EDITOR.fields[`${kind}.${key}`] ?? EDITOR.fields[key];
  const inner: Record<string, unknown> = { ...schema };
  if (isRecord(schema["properties"]))
    inner["properties"] = Object.fromEntries(Object.entries(schema["properties"]).map(([name, one]) => [name, formSchema(one, definitions, kind, name)]));
  if (isRecord(schema["additionalProperties"])) inner["additionalProperties"] = formSchema(schema["additionalProperties"], definitions, kind, "");
  if (isRecord(schema["items"])) inner["items"] = formSchema(schema["items"], definitions, kind, "");
  for (const many of ["oneOf", "anyOf"] as const)
    if (Array.isArray(schema[many])) inner[many] = schema[many].map((one) => formSchema(one, definitions, kind, ""));
  const empty = ["type", "enum", "const", "oneOf", "anyOf", "properties", "$ref"].every((one) => inner[one] === undefined);
  return {
    ...(empty ? ANY : {}),
    ...inner,
    ...(words === undefined
      ? {}
      : { ...words, ...(words.description === undefined && inner["description"] !== undefined ? { description: inner["description"] } : {}) }),
    ...(LONG.has(key) ? { multiline: true } : {}),
  } as Schema;
}

function resolved(given: unknown, definitions: Loose): Loose {
  if (!isRecord(given)) return {};
  const [, name] = typeof given["$ref"] === "string" ? (/^#\/\$defs\/(\w+)$/.exec(given["$ref"]) ?? []) : [];
  if (name === undefined) return given;
  const { $ref: _, ...own } = given;
  return { ...(isRecord(definitions[name]) ? definitions[name] : {}), ...own };
}
