/** Where a value stands: keys, and places in lists. */
export type FormPath = readonly (string | number)[];

/** A value with keys. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value has keys. */
export const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null && !Array.isArray(value);

/** A path as the server writes it: `agents.reviewer.mentions[0]`. */
export function pathText(path: FormPath): string {
  return path.reduce<string>((text, key) => (typeof key === "number" ? `${text}[${key}]` : text === "" ? quoted(key) : `${text}.${quoted(key)}`), "");
}

const quoted = (key: string): string => (/[.[\]"]/.test(key) || key === "" ? JSON.stringify(key) : key);

/** The path of a text that `pathText` or the server wrote. */
export function readPath(text: string): FormPath {
  const path: (string | number)[] = [];
  for (const [, index, name, plain] of text.matchAll(/\[(\d+)\]|("(?:[^"\\]|\\.)*")|([^.[\]"]+)/g)) {
    if (index !== undefined) path.push(Number(index));
    else if (name !== undefined) path.push(JSON.parse(name) as string);
    else path.push(plain as string);
  }
  return path;
}

/** Returns the value at a path; undefined without one. */
export function valueAt(value: unknown, path: FormPath): unknown {
  return path.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return at[Number(key)];
    return isFields(at) && Object.hasOwn(at, key) ? at[String(key)] : undefined;
  }, value);
}

/** A copy with another value at a path; undefined takes the key, or the entry of a list, out. */
export function withValue(root: unknown, path: FormPath, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === "number") {
    const list = Array.isArray(root) ? [...root] : [];
    if (rest.length === 0 && value === undefined) list.splice(key, 1);
    else list[key] = withValue(list[key], rest, value);
    return list;
  }
  const fields = isFields(root) ? root : {};
  const inner = withValue(fields[key], rest, value);
  if (inner === undefined) return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== key));
  return { ...fields, [key]: inner };
}

/** Whether two JSON values are the same, whatever the order of their keys. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((entry, at) => same(entry, other[at]));
  if (!isFields(one) || !isFields(other)) return false;
  const [left, right] = [Object.keys(one), Object.keys(other)];
  return left.length === right.length && left.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}

/** Whether one path lies at or below the other. */
export const overlap = (one: FormPath, other: FormPath): boolean =>
  Array.from({ length: Math.min(one.length, other.length) }, (_, at) => String(one[at]) === String(other[at])).every(Boolean);
