import { createRequire } from "node:module";
import type { Schema } from "@svc/sdk";
import type { Ajv, ErrorObject } from "ajv";
import { CONTROLS } from "../../base/control-characters.ts";
import { plainCheck } from "./plain-schema.ts";
import { patternTrouble } from "./safe-pattern.ts";
import { closed } from "./schema-at.ts";

/** Checks a value and fills in its defaults, in place. The answer is what is wrong. */
export type Validator = (value: unknown) => readonly ErrorObject[];

/** The formats a configuration's schema may name. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  url: (text) => /^(?:https?|wss?):\/\//i.test(text) && URL.canParse(text),
  uri: (text) => URL.canParse(text),
  line: (text) => text.search(CONTROLS) === -1,
  address: (text) => /^(?:\[[0-9A-Fa-f:.]+\]|[^:\s]+):[0-9]{1,5}$/.test(text),
  regex: (text) => patternTrouble(text) === undefined,
  timezone: (text) => {
    try {
      new Intl.DateTimeFormat("en", { timeZone: text });
      return true;
    } catch {
      return false;
    }
  },
};

let shared: Ajv | undefined;
const compiled = new WeakMap<Schema, Validator>();

/** Reading a file, editing one, comparing two and finding that one fits need no ajv: it is loaded when something has to be explained. */
function engine(): Ajv {
  if (shared === undefined) {
    const { Ajv } = createRequire(import.meta.url)("ajv") as typeof import("ajv");
    shared = new Ajv({
      strict: true,
      // A plugin may state required keys in a branch; ajv's stricter reading would refuse that.
      strictRequired: false,
      allowUnionTypes: true,
      allErrors: true,
      verbose: true,
      useDefaults: true,
      ownProperties: true,
      // Compiling the meta-schema costs more than all our schemas; strict mode refuses what is no schema.
      validateSchema: false,
      meta: false,
      // Each validator runs a few times in a process's life; making its code smaller costs more than it saves.
      code: { optimize: false },
      formats: { ...FORMATS },
    });
    shared.addKeyword({ keyword: "secret", schemaType: "boolean" });
    shared.addKeyword({ keyword: "masked", schemaType: "boolean" });
    shared.addKeyword({ keyword: "restart", schemaType: "boolean" });
    shared.addKeyword({ keyword: "unread", schemaType: "boolean" });
  }
  return shared;
}

/**
 * The validator of a schema, made once for each schema object. Throws ajv's error when it is no usable schema. A value that plainly
 * fits is not shown to ajv: loading and compiling would be the longest part of a start.
 */
export function validatorOf(schema: Schema): Validator {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const shape = closed(schema);
  const fits = plainCheck(shape, { formats: FORMATS, defaults: true });
  let judge = fits === undefined ? compile(shape) : undefined;
  const validator: Validator = (value) => {
    if (fits?.(value)) return [];
    judge ??= compile(shape);
    return judge(value);
  };
  compiled.set(schema, validator);
  return validator;
}

/** Why a schema cannot be used; undefined when it can. Loads ajv. */
export function schemaTrouble(schema: Schema): string | undefined {
  try {
    compile(closed(schema));
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function compile(shape: Schema): Validator {
  const ajv = engine();
  const validate = ajv.compile(shape);
  // ajv would keep every schema for ever; plugins come and go.
  ajv.removeSchema(shape);
  return (value) => (validate(value) ? [] : [...(validate.errors ?? [])]);
}
