/*
 * Validation of values against schemas with ajv. Schemas known at build time are compiled by the build (see `standalone.ts`), plain ones of a
 * document are checked without ajv (see `plain-check.ts`), and ajv is loaded only to explain why a value is invalid; any other schema is compiled on
 * first use.
 */
import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";
import type { Ajv, Options, ErrorObject as SchemaError } from "ajv";
import { closed } from "./closed.ts";
import { FORMATS } from "./formats.ts";
import { plainCheck } from "./plain-check.ts";
import { type Fits, preparedCheck } from "./prepared.ts";

/**
 * Purpose of a validation. `document`: a part of svc.json, unknown keys refused, defaults filled in, every error reported. `body`: JSON of a caller;
 * an object that lists its keys accepts no others, and validation stops at the first error: a million of them would cost more than the body. `query`:
 * as `body`, unknown keys ignored.
 */
export type Reading = "document" | "body" | "query";

/** One thing that is wrong with a value, in ajv's form. */
export type { SchemaError };

/** Validates values by one schema. */
export interface SchemaCheck {
  /** Whether the value fits; as a `document` with its defaults filled in, in place. */
  readonly fits: Fits;
  /** Returns the errors of an invalid value: all of them for a `document`, the first one otherwise. */
  errors(value: unknown): readonly SchemaError[];
}

/** Transforms a schema for a reading before it is compiled. */
export const shapeFor: Readonly<Record<Reading, (schema: Schema) => Schema>> = {
  document: (schema) => closed(schema),
  body: (schema) => closed(schema, "open"),
  query: (schema) => ({ ...schema, additionalProperties: true }),
};

const STRICT: Options = {
  strict: true,
  // A branch may require keys that are declared outside of it.
  strictRequired: false,
  allowUnionTypes: true,
  ownProperties: true,
  // Compiling the meta-schema costs more than all our schemas; strict mode refuses invalid schemas.
  validateSchema: false,
  meta: false,
  // A validator runs a few times in a process's life; making its code smaller costs more than it saves.
  code: { optimize: false },
};

/** ajv's options for a reading. */
export const optionsFor: Readonly<Record<Reading, Options>> = {
  document: { ...STRICT, useDefaults: true, formats: { ...FORMATS } },
  body: { ...STRICT, strictTypes: false, validateFormats: false },
  query: { ...STRICT, strictTypes: false, validateFormats: false },
};

/** Annotations for people and for the configuration, without constraints. */
export const MARKS = ["secret", "masked", "restart", "unread"] as const;

const require = createRequire(import.meta.url);
const engines = new Map<Reading, Ajv>();

function engine(reading: Reading): Ajv {
  let ajv = engines.get(reading);
  if (ajv === undefined) {
    const { Ajv } = require("ajv") as typeof import("ajv");
    ajv = new Ajv({ ...optionsFor[reading], ...(reading === "document" ? { allErrors: true, verbose: true } : {}) });
    for (const keyword of MARKS) ajv.addKeyword({ keyword, schemaType: "boolean" });
    engines.set(reading, ajv);
  }
  return ajv;
}

function compile(reading: Reading, shape: Schema): SchemaCheck["errors"] {
  const ajv = engine(reading);
  const validate = ajv.compile(shape);
  // ajv would keep every schema for ever; plugins come and go.
  ajv.removeSchema(shape);
  return (value) => (validate(value) ? [] : [...(validate.errors ?? [])]);
}

const known: Readonly<Record<Reading, WeakMap<Schema, SchemaCheck>>> = { document: new WeakMap(), body: new WeakMap(), query: new WeakMap() };

const modules = new WeakMap<Schema, string>();

/** Names the module of checks that the build compiled for a schema, before its first use. */
export const preparedIn = (schema: Schema, module: string): void => void modules.set(schema, module);

/**
 * Returns the check of a schema, created once for each schema object. `checks` is a module of checks that the build compiled, see `preparedCheck`; if
 * `preparedIn` has named another one, that one is used. Both methods throw ajv's error if the schema is not usable.
 */
export function schemaCheck(schema: Schema, reading: Reading, checks?: string): SchemaCheck {
  const before = known[reading].get(schema);
  if (before !== undefined) return before;
  const shape = shapeFor[reading](schema);
  let judge: SchemaCheck["errors"] | undefined;
  const errors: SchemaCheck["errors"] = (value) => {
    judge ??= compile(reading, shape);
    return judge(value);
  };
  const module = modules.get(schema) ?? checks;
  const prepared = module === undefined ? undefined : preparedCheck(module, reading, shape);
  const fits = prepared ?? (reading === "document" ? plainCheck(shape) : undefined);
  const check: SchemaCheck = { fits: fits ?? ((value) => errors(value).length === 0), errors };
  known[reading].set(schema, check);
  return check;
}

/** Why a schema cannot be used for a section of svc.json; undefined when it can. Loads ajv. */
export function schemaTrouble(schema: Schema): string | undefined {
  try {
    compile("document", shapeFor.document(schema));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
