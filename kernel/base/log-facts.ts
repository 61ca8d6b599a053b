import type { Log } from "@svc/sdk";

/** Fields that the log itself writes on each line. */
const OWN = new Set(["level", "time", "pid", "hostname", "plugin", "msg"]);
/** Of one line: characters in all, of one string, entries of one object or list, and levels. */
const LIMITS = { total: 8_000, string: 2_000, entries: 50, depth: 6 };
const CUT = "[cut]";

/**
 * Wraps the log for a plugin. The plugin cannot set the log's own fields: fields of those names are nested below `facts`, and facts and text are
 * truncated to a bounded length.
 */
export function pluginLog(log: Log): Log {
  const write = (level: keyof Log) => (given: object | string, text?: string) => {
    if (typeof given === "string") log[level](shortened(given));
    else log[level](factsOf(given), text === undefined ? undefined : shortened(String(text)));
  };
  return { debug: write("debug"), info: write("info"), warn: write("warn"), error: write("error") };
}

function factsOf(given: object): object {
  if (given instanceof Error) return { err: given };
  const { err, ...rest } = given as { readonly err?: unknown };
  const facts = bounded(rest, LIMITS.depth, { left: LIMITS.total }) as Record<string, unknown>;
  const own = Object.keys(facts).filter((key) => OWN.has(key));
  const kept = Object.fromEntries(Object.entries(facts).filter(([key]) => !OWN.has(key)));
  return {
    ...kept,
    ...(err === undefined ? {} : { err: err instanceof Error ? err : bounded(err, LIMITS.depth, { left: LIMITS.total }) }),
    ...(own.length === 0
      ? {}
      : { facts: { ...(kept.facts === undefined ? {} : { facts: kept.facts }), ...Object.fromEntries(own.map((key) => [key, facts[key]])) } }),
  };
}

/** Copies plain data: overlong, too deep or non-data values are truncated or described in a word. */
function bounded(value: unknown, depth: number, budget: { left: number }): unknown {
  if (budget.left <= 0) return CUT;
  budget.left -= 8;
  switch (typeof value) {
    case "string": {
      const text = value.slice(0, Math.max(0, Math.min(LIMITS.string, budget.left)));
      budget.left -= text.length;
      return text.length === value.length ? value : `${text}${CUT}`;
    }
    case "number":
    case "boolean":
    case "undefined":
      return value;
    case "object":
      return value === null ? null : composite(value, depth, budget);
    default:
      return String(value).slice(0, 100);
  }
}

function composite(value: object, depth: number, budget: { left: number }): unknown {
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof Error) return bounded(`${value.name}: ${value.message}`, depth, budget);
  if (value instanceof URL) return bounded(value.href, depth, budget);
  if (depth === 0) return CUT;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) {
    const items = value.slice(0, LIMITS.entries).map((item) => bounded(item, depth - 1, budget));
    return value.length > LIMITS.entries ? [...items, CUT] : items;
  }
  const copy: Record<string, unknown> = {};
  for (const [at, key] of Object.keys(value).entries()) {
    if (at === LIMITS.entries || budget.left <= 0) {
      copy["…"] = CUT;
      break;
    }
    budget.left -= key.length;
    Object.defineProperty(copy, key.slice(0, 100), {
      value: bounded((value as Record<string, unknown>)[key], depth - 1, budget),
      enumerable: true,
      configurable: true,
    });
  }
  return copy;
}

const shortened = (text: string): string => (text.length > 4_000 ? `${text.slice(0, 4_000)}${CUT}` : text);

/** Causes of causes; a chain may be a ring. */
const DEEPEST_CAUSE = 5;
/** Characters of an error's message; vendors put whole answers into theirs. */
const LONGEST_ERROR = 8_000;

/** Returns an error as plain data, without the request or response objects that vendors hang on theirs. */
export function describeError(error: unknown, depth: unknown = 0): unknown {
  if (!(error instanceof Error)) return error;
  const { code } = error as { code?: unknown };
  const level = typeof depth === "number" ? depth : 0;
  return {
    type: error.name,
    message: error.message.slice(0, LONGEST_ERROR),
    ...(code === undefined ? {} : { code }),
    stack: error.stack?.slice(0, 2 * LONGEST_ERROR),
    ...(error.cause === undefined || level >= DEEPEST_CAUSE ? {} : { cause: describeError(error.cause, level + 1) }),
  };
}
