import { type ConfigPath, formatPath, isRecord } from "./config-path.ts";

/** Differences of a new configuration, as paths. */
export interface ConfigDifference {
  readonly changed: readonly string[];
  /** Of these, the ones that take effect at the next start only (CFG-09). */
  readonly restartRequired: readonly string[];
}

/**
 * Compares two checked values, defaults filled in: writing a default out is no change, another value behind a variable is one. A key that was added
 * or removed is one path, and so is a list whose length changed. An agent or section that is new as a whole is applied as a whole, even if a key
 * inside it is marked for a restart.
 */
export function diffConfig(before: unknown, after: unknown, restartPaths: readonly string[]): ConfigDifference {
  const changed = differences(before, after, []);
  const patterns = restartPaths.map((path) => path.replaceAll("[]", ".[]").split("."));
  const waiting = changed.filter((path) => patterns.some((pattern) => waits(path, pattern)));
  return { changed: changed.map(formatPath), restartRequired: waiting.map(formatPath) };
}

/** Whether two checked values differ at all: plugins are notified of exactly the changes that `diffConfig` reports. */
export const hasChanged = (before: unknown, after: unknown): boolean => differences(before, after, []).length > 0;

function differences(before: unknown, after: unknown, path: ConfigPath): readonly ConfigPath[] {
  if (isRecord(before) && isRecord(after)) {
    return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) => {
      if (Object.hasOwn(before, key) && Object.hasOwn(after, key)) return differences(before[key], after[key], [...path, key]);
      return [[...path, key]];
    });
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((entry, index) => differences(entry, after[index], [...path, index]));
  }
  if (Array.isArray(before) && Array.isArray(after)) return [path];
  return Object.is(before, after) ? [] : [path];
}

/** Whether a path needs a restart: it lies at or below a pattern, or a list changed as a whole and the pattern matches inside its entries. */
function waits(path: ConfigPath, pattern: readonly string[]): boolean {
  const common = Math.min(path.length, pattern.length);
  for (let index = 0; index < common; index += 1) {
    const [segment, wanted] = [path[index], pattern[index]];
    if (typeof segment === "number" ? wanted !== "[]" : wanted !== "*" && wanted !== segment) return false;
  }
  return path.length >= pattern.length || pattern[path.length] === "[]";
}
