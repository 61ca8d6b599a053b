/** The parts of an OpenAPI document that types are made from. */
export interface TypedDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses?: Readonly<Record<string, TypedResponse>> }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

interface TypedResponse {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>;
}

interface JsonSchema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
}

/** TypeScript declarations of every answer in the document: a type for each named schema, and `Answers`, by method and path. */
export function apiTypes({ paths, components }: TypedDocument): string {
  const named = Object.entries(components.schemas)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${comment(schema.description, "")}export type ${typeName(name)} = ${typeOf(schema, "")};\n`);
  const routes = Object.entries(paths)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([path, methods]) => Object.entries(methods).map(([method, { responses = {} }]) => rowOf(`${method.toUpperCase()} ${path}`, responses)));
  const answers = `/** What each route answers when it succeeds. A string where the answer is text, undefined where it is empty. */\nexport interface Answers {\n${routes.join("")}}\n`;
  return [...named, answers].join("\n");
}

function rowOf(route: string, responses: Readonly<Record<string, TypedResponse>>): string {
  const types = Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([status, { content }]) => (content === undefined ? [status === "204" ? "undefined" : "unknown"] : Object.entries(content).map(contentType)));
  const union = [...new Set(types)].join(" | ");
  return `  readonly ${JSON.stringify(route)}: ${union === "" ? "unknown" : union};\n`;
}

const contentType = ([type, { schema }]: readonly [string, { readonly schema?: JsonSchema }]): string =>
  type === "application/json" ? typeOf(schema ?? {}, "  ") : "string";

function typeOf(schema: JsonSchema, indent: string): string {
  const { $ref, type, const: only, enum: some, anyOf, oneOf = anyOf, items } = schema;
  if ($ref !== undefined) return typeName($ref.slice($ref.lastIndexOf("/") + 1));
  if (only !== undefined) return JSON.stringify(only);
  if (some !== undefined) return some.map((value) => JSON.stringify(value)).join(" | ");
  if (oneOf !== undefined) return oneOf.map((one) => typeOf(one, indent)).join(" | ");
  if (typeof type === "object") return type.map((one) => typeOf({ ...schema, type: one }, indent)).join(" | ");
  if (type === "array") return listType(items ?? {}, indent);
  if (type === "object") return objectType(schema, indent);
  return type === "integer" ? "number" : (type ?? "unknown");
}

function listType(items: JsonSchema, indent: string): string {
  const one = typeOf(items, indent);
  const isUnion = (items.enum ?? items.anyOf ?? items.oneOf) !== undefined || typeof items.type === "object";
  return `readonly ${isUnion ? `(${one})` : one}[]`;
}

function objectType({ properties = {}, required = [], additionalProperties }: JsonSchema, indent: string): string {
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(([key, schema]) => {
    const name = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
    return `${comment(schema.description, inner)}${inner}readonly ${name}${required.includes(key) ? "" : "?"}: ${typeOf(schema, inner)};\n`;
  });
  if (members.length > 0) return `{\n${members.join("")}${indent}}`;
  const values = typeof additionalProperties === "object" ? typeOf(additionalProperties, indent) : "unknown";
  return `{ readonly [name: string]: ${values} }`;
}

/** As a name of TypeScript. */
const typeName = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, "_");

/** Long descriptions, such as the list of all error codes, appear only in the OpenAPI document: the types do not change with each of them. */
function comment(words: string | undefined, indent: string): string {
  if (words === undefined) return "";
  const shown = words.length > LONGEST ? words.slice(0, words.indexOf(".") + 1) : words;
  return shown === "" ? "" : `${indent}/** ${shown.replaceAll("*/", "* /")} */\n`;
}

const LONGEST = 300;
