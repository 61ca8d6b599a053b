import { reasonOf } from "./errors.ts";
import type { Publication } from "./events.ts";

/** Types reserved for the daemon: others rely on them. */
const OWN_TYPES = /^(?:task|plugin|delivery):|^message:matched$/;

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

/** Whether only the daemon publishes such an event: by its type, or by an id of the daemon's form. */
export const isReservedEvent = ({ type, id }: Publication): boolean => OWN_TYPES.test(type) || id?.startsWith("evt_") === true;
