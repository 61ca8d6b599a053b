import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";
import type { AnySchema, Ajv as Compiler } from "ajv";
import { keyOf } from "./prepared.ts";
import { optionsFor, type Reading, shapeFor } from "./schema-check.ts";

/** A schema and the purpose of its validation. */
export interface SchemaUse {
  readonly schema: Schema;
  readonly reading: Reading;
}

const require = createRequire(import.meta.url);

/**
 * Returns the source of a module of checks for these schemas, as `preparedCheck` reads it: the code that ajv generates for each with its run-time
 * options, without error reporting. A schema that needs more than `CheckHelpers` provides is left out, and is compiled when it is used. Throws ajv's
 * error for one that is not usable.
 */
export function standaloneModule(uses: readonly SchemaUse[]): string {
  const made = new Map<string, string>();
  for (const { schema, reading } of uses) {
    const shape = shapeFor[reading](schema);
    const key = keyOf(reading, shape);
    const body = made.has(key) ? undefined : checkSource(reading, shape);
    if (body !== undefined) made.set(key, body);
  }
  const checks = [...made].map(([key, body]) => `  ${JSON.stringify(key)}() {${body}},\n`);
  return `/* Made by the build from the schemas of this package: see kernel/base/schema/standalone.ts. */\nexport default ({ formats, length }) => ({\n${checks.join("")}});\n`;
}

function checkSource(reading: Reading, shape: Schema): string | undefined {
  const { Ajv, _ } = require("ajv") as typeof import("ajv");
  const { default: standalone } = require("ajv/dist/standalone/index.js") as { default(ajv: Compiler, validate: unknown): string };
  const ajv = new Ajv({ ...optionsFor[reading], messages: false, code: { optimize: true, source: true, formats: _`formats` } });
  const source = standalone(ajv, ajv.compile(bare(shape) as AnySchema));
  const [, exported] = /^"use strict";module\.exports = (\w+);module\.exports\.default = \1;/.exec(source) ?? [];
  if (exported === undefined) throw new Error("ajv's standalone code does not begin with its exports");
  const body = withoutErrors(source.slice(source.indexOf(".default = ") + `.default = ${exported};`.length)).replaceAll(
    'require("ajv/dist/runtime/ucs2length").default',
    "length",
  );
  return /\brequire\(/.test(body) ? undefined : `${body}return ${exported};`;
}

/** Removes the annotations for people from the schema: they would be repeated in the generated code. */
function bare(schema: Schema): Schema {
  const { description: _, secret: _secret, masked: _masked, restart: _restart, unread: _unread, ...rest } = schema;
  const inner = (value: unknown): unknown => (typeof value === "object" && value !== null ? bare(value as Schema) : value);
  const entries = Object.entries(rest).map(([keyword, value]): [string, unknown] => {
    if (keyword === "properties") return [keyword, Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, inner(one)]))];
    if (Array.isArray(value) && ["anyOf", "oneOf", "allOf"].includes(keyword)) return [keyword, value.map(inner)];
    return [keyword, ["items", "additionalProperties", "propertyNames", "not", "if", "then", "else"].includes(keyword) ? inner(value) : value];
  });
  return Object.fromEntries(entries) as Schema;
}

/** Position in ajv's code where an error is reported: it ends the check there, or counts it in a branch. */
const REPORT = /validate\d+\.errors = \[\{|const err\d+ = \{/g;
const COUNTED = /^;if\(vErrors === null\)\{vErrors = \[err\d+\];\}else \{vErrors\.push\(err\d+\);\}/;

/** Half of the code makes error objects that a check for yes or no does not read. */
function withoutErrors(source: string): string {
  let kept = "";
  let from = 0;
  for (const report of source.matchAll(REPORT)) {
    const after = source.slice(endOfObject(source, report.index + report[0].length));
    const rest = report[0].startsWith("const") ? COUNTED.exec(after)?.[0] : after.startsWith("];") ? "];" : undefined;
    if (rest === undefined) throw new Error(`ajv reports an error in a way that is not known here: ${after.slice(0, 80)}`);
    kept += source.slice(from, report.index);
    from = source.length - after.length + rest.length;
  }
  return kept + source.slice(from);
}

/** Where the object ends whose `{` lies just before `at`. */
function endOfObject(source: string, start: number): number {
  let at = start;
  let quote = "";
  for (let depth = 1; depth > 0 && at < source.length; at += 1) {
    const char = source[at] as string;
    if (quote !== "") {
      if (char === "\\") at += 1;
      else if (char === quote) quote = "";
    } else if (char === '"' || char === "'" || char === "`") quote = char;
    else if (char === "{") depth += 1;
    else if (char === "}") depth -= 1;
  }
  return at;
}
