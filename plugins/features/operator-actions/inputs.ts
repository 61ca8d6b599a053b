import { type ObjectSchema, svcError } from "@svc/sdk";

/** A value of a typed input. */
export type Value = string | number | boolean;

/** A typed input of an action. */
export interface Input {
  readonly name: string;
  readonly type: "string" | "number" | "boolean";
  readonly required: boolean;
  readonly defaultValue?: Value;
}

/** The form of an input's name. */
export const INPUT_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const LONGEST = 100_000;

/** `city:string!,n:number`: comma separated, `!` for required, `string` where no type is given. Throws `SVC_OPERATOR_ACTION_INVALID`. */
export function parseShorthand(shorthand: string): Input[] {
  if (shorthand.trim() === "") return [];
  return shorthand.split(",").map((word) => {
    const match = /^\s*([A-Za-z_][A-Za-z0-9_-]*)\s*(?::\s*(string|number|boolean)\s*)?(!)?\s*$/.exec(word);
    if (!match) {
      throw svcError(
        "SVC_OPERATOR_ACTION_INVALID",
        `The input ${JSON.stringify(word)} is not of the form name:type or name:type! with type string, number or boolean.`,
        {
          status: 400,
          field: "inputs",
        },
      );
    }
    const [, name = "", type = "string", required] = match;
    return { name, type: type as Input["type"], required: required !== undefined };
  });
}

/** The schema by which agents and workflows call the action. */
export function schemaOf(inputs: readonly Input[]): ObjectSchema {
  return {
    type: "object",
    properties: Object.fromEntries(
      inputs.map(({ name, type, defaultValue }) => [
        name,
        {
          type,
          description: `The ${type} ${name}.`,
          ...(type === "string" ? { maxLength: LONGEST } : {}),
          ...(defaultValue === undefined ? {} : { default: defaultValue }),
        },
      ]),
    ),
    required: inputs.filter((input) => input.required && input.defaultValue === undefined).map(({ name }) => name),
    additionalProperties: false,
  };
}

/**
 * Converts a caller's values to the declared types: text that spells a number or `true` and `false` counts as one, since the command line and forms
 * have only text. Throws `SVC_ACTION_INPUT` for other values, for unknown names and for missing required ones.
 */
export function typedValues(inputs: readonly Input[], given: Readonly<Record<string, unknown>>): Record<string, Value> {
  const unknown = Object.keys(given).find((name) => !inputs.some((input) => input.name === name));
  if (unknown !== undefined) throw refused(unknown, `is not an input; known are: ${inputs.map(({ name }) => name).join(", ") || "none"}`);
  const out: Record<string, Value> = {};
  for (const input of inputs) {
    const raw = Object.hasOwn(given, input.name) ? given[input.name] : undefined;
    if (raw !== undefined) out[input.name] = typed(input, raw);
    else if (input.required && input.defaultValue === undefined) throw refused(input.name, "is required");
  }
  return out;
}

/** `typedValues` with the defaults filled in. An optional input without either is left out. */
export function withDefaults(inputs: readonly Input[], values: Readonly<Record<string, Value>>): ReadonlyMap<string, Value> {
  const out = new Map<string, Value>();
  for (const { name, defaultValue } of inputs) {
    const value = Object.hasOwn(values, name) ? values[name] : defaultValue;
    if (value !== undefined) out.set(name, value);
  }
  return out;
}

/** Converts a raw value to the type of its input. Throws `SVC_ACTION_INPUT` with the reason. */
export function typed({ name, type }: Pick<Input, "name" | "type">, raw: unknown): Value {
  if (type === "string" && typeof raw === "string") {
    if (raw.length > LONGEST) throw refused(name, `is longer than ${LONGEST} characters`);
    if (raw.includes("\0") || /\p{Surrogate}/u.test(raw)) throw refused(name, "holds a NUL or half a character, which no program takes");
    return raw;
  }
  if (type === "number") {
    const number = typeof raw === "string" && /^[+-]?(\d+(?:\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(raw.trim()) ? Number(raw) : raw;
    if (typeof number === "number" && Number.isFinite(number)) return number;
  }
  if (type === "boolean") {
    if (typeof raw === "boolean") return raw;
    if (raw === "true" || raw === "false") return raw === "true";
  }
  throw refused(name, `is not a ${type}`);
}

const refused = (name: string, reason: string) => svcError("SVC_ACTION_INPUT", `The input '${name}' ${reason}.`, { status: 400, field: name });
