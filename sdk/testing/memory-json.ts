import { svcError } from "../errors.ts";

/** Returns `value` as JSON text. Throws `SVC_STORE_VALUE` for values without a JSON form: undefined, a cycle, a bigint. */
export function jsonOf(value: unknown, key: string): string {
  let reason = "it is undefined or a function";
  try {
    const text = JSON.stringify(value);
    if (text !== undefined) return text;
  } catch (error) {
    reason = (error as Error).message;
  }
  throw svcError("SVC_STORE_VALUE", `What was to be stored as '${key}' is no JSON: ${reason}.`, { status: 500 });
}

const NAME = /^[a-z0-9][a-z0-9._-]*(\/[a-z0-9][a-z0-9._-]*)*$/;
const FIELD = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** `name` itself. Throws `SVC_STORE_NAME` for one under which nothing can be stored. */
export function storeName(name: string): string {
  if (NAME.test(name)) return name;
  throw svcError("SVC_STORE_NAME", `'${name}' cannot name stored state: use lower-case letters, digits, '-', '_' and '.'.`, { status: 500 });
}

/** `field` itself. Throws `SVC_STORE_NAME` for one that cannot be indexed. */
export function indexName(collection: string, field: string): string {
  if (FIELD.test(field)) return field;
  throw svcError("SVC_STORE_NAME", `'${collection}.${field}' cannot be an index: use letters, digits and '_'.`, { status: 500 });
}
