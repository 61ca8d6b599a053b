import { fail } from "./errors.ts";

/** Where a value is: keys of objects and indexes of lists, from the top of svc.json. */
export type ConfigPath = readonly (string | number)[];

/** Names by which a careless walk would reach JavaScript's own machinery. No configuration may use them as keys. */
const FORBIDDEN: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/** True for the three names that no key of a configuration may have. */
export const isForbiddenKey = (key: string): boolean => FORBIDDEN.has(key);

const SEGMENT = /\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]|\.?([^.[\]]+)/y;

/**
 * Reads `agents.a.model`, `boards[0].id`, `boards.0.id` or `providers["my.one"].apiKey`. Throws `SVC_CONFIG_PATH` when it cannot be
 * read and `SVC_CONFIG_KEY` for the forbidden names.
 */
export function parsePath(path: string): ConfigPath {
  const segments: (string | number)[] = [];
  SEGMENT.lastIndex = 0;
  while (SEGMENT.lastIndex < path.length) {
    const first = SEGMENT.lastIndex === 0;
    const found = SEGMENT.exec(path);
    if (found === null || (first ? found[0].startsWith(".") : found[3] !== undefined && !found[0].startsWith("."))) {
      throw fail("SVC_CONFIG_PATH", { path, reason: "it cannot be read; write it like agents.assistant.maxConcurrent" });
    }
    const [, index, quoted, plain] = found;
    const segment = index !== undefined ? Number(index) : quoted !== undefined ? quoted.replace(/\\(.)/g, "$1") : (plain ?? "");
    if (typeof segment === "string" && isForbiddenKey(segment)) throw fail("SVC_CONFIG_KEY", { where: path, key: segment });
    segments.push(segment);
  }
  if (segments.length === 0) throw fail("SVC_CONFIG_PATH", { path, reason: "it is empty" });
  return segments;
}

/** The written form that `parsePath` reads back. */
export function formatPath(path: ConfigPath): string {
  let text = "";
  for (const segment of path) {
    if (typeof segment === "number") text += `[${segment}]`;
    else if (segment !== "" && !/[.[\]"]/.test(segment)) text += text === "" ? segment : `.${segment}`;
    else text += `["${segment.replace(/["\\]/g, "\\$&")}"]`;
  }
  return text;
}

/** True for `{...}` as JSON knows it. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the value at `path`, through own properties only; undefined if there is none. */
export function valueAt(value: unknown, path: ConfigPath): unknown {
  let at = value;
  for (const segment of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, segment)) return undefined;
    at = (at as Record<string | number, unknown>)[segment];
  }
  return at;
}
