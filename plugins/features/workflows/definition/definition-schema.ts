import { createRequire } from "node:module";
import type { Ajv2020, ErrorObject, ValidateFunction } from "ajv/dist/2020.js";
import { compileRegex } from "../expressions/safe-regex.ts";
import { type Finding, pointerPart } from "./problem.ts";

const require = createRequire(import.meta.url);
const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Lookaround is not in RE2; such patterns of the schema are for short texts. */
const LOOKAROUND = /\(\?[=!<]/;
const SHORT = 1_000;

let validate: ValidateFunction | undefined;

/** Loaded and compiled with the first definition. */
function check(): ValidateFunction {
  if (validate !== undefined) return validate;
  const { Ajv2020: Judge } = require("ajv/dist/2020.js") as { Ajv2020: new (options: object) => Ajv2020 };
  const schema = require("@svc/feature-workflows/workflow-definition.schema.json") as object;
  const judge = new Judge({
    allErrors: true,
    discriminator: true,
    strict: false,
    ownProperties: true,
    validateSchema: false,
    formats: { date: (text: string) => DATE.test(text) && !Number.isNaN(Date.parse(text)) },
    code: { regExp: Object.assign((source: string) => new BoundedPattern(source), { code: "BoundedPattern" }) },
  });
  validate = judge.compile(schema);
  return validate;
}

/** A pattern of the schema on the text of a file: in time linear in its length. */
class BoundedPattern {
  readonly test: (text: string) => boolean;
  readonly #source: string;

  constructor(source: string) {
    this.#source = source;
    const pattern = LOOKAROUND.test(source) ? new RegExp(source, "u") : compileRegex(source);
    this.test = (text) => (pattern instanceof RegExp ? text.length <= SHORT : true) && pattern.test(text);
  }

  /** By this the judge tells patterns apart. */
  toString(): string {
    return this.#source;
  }
}

/** Validates a definition against the schema: returns at most 50 findings. */
export function schemaFindings(value: unknown): readonly Finding[] {
  const fits = check();
  if (fits(value)) return [];
  const errors = (fits.errors ?? []).filter(isTelling);
  const findings = errors.slice(0, 50).map((error) => ({ message: worded(error), pointer: pointerOf(error), severity: "error" as const, code: "SCHEMA" }));
  return findings.filter(({ pointer, message }, index) => findings.findIndex((one) => one.pointer === pointer && one.message === message) === index);
}

/** Excludes errors that only report that something inside is invalid. */
const isTelling = ({ keyword, schemaPath }: ErrorObject): boolean =>
  !["if", "allOf"].includes(keyword) && !(keyword === "oneOf" && schemaPath.includes("/items/oneOf")) && !/\/contains\/.*\/(const|required)$/.test(schemaPath);

function pointerOf({ keyword, instancePath, params }: ErrorObject): string {
  if (keyword === "additionalProperties") return `${instancePath}/${pointerPart((params as { additionalProperty: string }).additionalProperty)}`;
  // A field that is missing is told where it should stand: a form has a place for it.
  if (keyword === "required") return `${instancePath}/${pointerPart((params as { missingProperty: string }).missingProperty)}`;
  return instancePath;
}

function worded({ keyword, instancePath, params, message }: ErrorObject): string {
  const facts = params as Record<string, unknown>;
  if (keyword === "additionalProperties") return `The field ${String(facts["additionalProperty"])} is not known here.`;
  if (keyword === "required") return `The field ${String(facts["missingProperty"])} is missing.`;
  if (keyword === "discriminator") return `The kind ${JSON.stringify(facts["tagValue"])} is not known.`;
  if (keyword === "enum") return `This must be one of ${(facts["allowedValues"] as unknown[]).map(String).join(", ")}.`;
  if (keyword === "const") return `This must be ${JSON.stringify(facts["allowedValue"])}.`;
  if (keyword === "contains") return "A workflow has exactly one node of kind trigger.";
  if (keyword === "not" && instancePath.endsWith("/kind")) return "A trigger stands at the top of a workflow only.";
  if (keyword === "not") return "This name has a meaning of its own here; take another one.";
  if (keyword === "oneOf" && instancePath !== "") return "Exactly one of the alternatives must be given.";
  if (keyword === "minLength" && facts["limit"] === 1) return "This is empty; write something.";
  if (keyword === "minItems" && facts["limit"] === 1) return "This is empty; add an entry.";
  if (keyword === "pattern") return `This has not the form ${String(facts["pattern"])}.`;
  return `This ${message ?? "does not fit"}.`;
}
