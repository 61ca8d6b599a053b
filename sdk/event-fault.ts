import { reasonOf } from "./errors.ts";

/**
 * Returns why an event is not published: it lacks the members that listeners take for granted, or has no JSON form, with which every reader of the
 * recent events would fail. Undefined for an event that can be.
 */
export function eventFault(event: unknown): string | undefined {
  const { kind, type, summary } = (event ?? {}) as Record<string, unknown>;
  if (![kind, type, summary].every((member) => typeof member === "string")) return "it needs kind, type and summary, each a string";
  try {
    JSON.stringify(event);
    return undefined;
  } catch (error) {
    return `it cannot be written as JSON (${reasonOf(error).split("\n")[0]})`;
  }
}
