import type { ObjectSchema, Schema } from "@svc/sdk";
import { formatPath, parsePath } from "../base/config-path.ts";
import { branches } from "../base/schema/schema-walk.ts";
import { defaultAt, keysAt, schemasAt, suggestion } from "./setting-schema.ts";

/** Description of one setting, for people. */
export interface Setting {
  readonly path: string;
  readonly description?: string;
  /** `string`, `integer`, `a list of string`, `an object`, `a map by id`. */
  readonly type?: string;
  readonly default?: unknown;
  /** Permitted values: `1 to 240`, `one of: a, b`, `matches ^...$`. */
  readonly allowed?: string;
  readonly secret?: boolean;
  /** A change waits for a restart. */
  readonly restart?: boolean;
  /** The keys below it; of a list, those of its entries. */
  readonly keys: readonly { readonly key: string; readonly description?: string }[];
}

/** Looks a setting up; `""` is the whole document. Undefined for an unknown one, with the nearest known name. Throws `SVC_CONFIG_PATH`. */
export function describeSetting(root: ObjectSchema, path: string): { readonly setting?: Setting; readonly suggestion?: string } {
  const at = path === "" ? [] : parsePath(path);
  const schemas = schemasAt(root, at).flatMap(branches);
  if (schemas.length === 0) {
    const near = suggestion(root, at);
    return near === undefined ? {} : { suggestion: near };
  }
  const first = <K extends keyof Schema>(key: K): Schema[K] | undefined => schemas.find((schema) => schema[key] !== undefined)?.[key];
  const type = typeOf(schemas);
  const allowed = allowedBy(first);
  const fallback = at.length === 0 ? undefined : defaultAt(root, at);
  const description = first("description");
  return {
    setting: {
      path: formatPath(at),
      ...(description === undefined ? {} : { description }),
      ...(type === undefined ? {} : { type }),
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(allowed === "" ? {} : { allowed }),
      ...(first("secret") === true ? { secret: true } : {}),
      ...(first("restart") === true ? { restart: true } : {}),
      keys: schemas.some(({ type }) => type === "array")
        ? keysAt(root, [...at, 0]).map(({ key, ...rest }) => ({ key: `[0].${key}`, ...rest }))
        : keysAt(root, at),
    },
  };
}

function typeOf(schemas: readonly Schema[]): string | undefined {
  const types = new Set(schemas.flatMap((schema) => (schema.type === undefined ? [] : [nameOf(schema)])));
  return types.size === 0 ? undefined : [...types].join(" or ");
}

function nameOf({ type, items, properties, additionalProperties }: Schema): string {
  if (type === "array") return items?.type === undefined ? "a list" : `a list of ${items.type}`;
  if (type === "object") return properties === undefined && typeof additionalProperties === "object" ? "a map by id" : "an object";
  return String(type);
}

function allowedBy(first: <K extends keyof Schema>(key: K) => Schema[K] | undefined): string {
  const [minimum, maximum, above] = [first("minimum"), first("maximum"), first("exclusiveMinimum")];
  const range =
    minimum !== undefined && maximum !== undefined
      ? `${minimum} to ${maximum}`
      : minimum !== undefined
        ? `${minimum} or more`
        : maximum !== undefined
          ? `${maximum} or less`
          : above !== undefined
            ? `more than ${above}`
            : undefined;
  const words = first("enum");
  const pattern = first("pattern");
  return [range, words && `one of: ${words.join(", ")}`, pattern && `matches ${pattern}`].filter((part) => part !== undefined).join("; ");
}
