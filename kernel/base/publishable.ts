import { type Publication, reasonOf } from "@svc/sdk";
import { fail } from "./errors.ts";

/** Types reserved for the daemon: others rely on them. */
const OWN_TYPES = /^(?:task|plugin|delivery):|^message:matched$/;

/**
 * Returns a plugin's event. Throws `SVC_EVENT_INVALID` for one without the members that listeners take for granted, and for one without a JSON form:
 * every reader of the recent events would fail with it.
 */
export function publishable(plugin: string, event: unknown): Publication {
  const { kind, type, summary } = (event ?? {}) as Record<string, unknown>;
  const invalid = (reason: string) => fail("SVC_EVENT_INVALID", { plugin, type: typeof type === "string" ? type : "", reason });
  if (![kind, type, summary].every((member) => typeof member === "string")) throw invalid("it needs kind, type and summary, each a string");
  try {
    JSON.stringify(event);
  } catch (error) {
    throw invalid(`it cannot be written as JSON (${reasonOf(error).split("\n")[0]})`);
  }
  return event as Publication;
}

/** Returns a plugin's event that the daemon tells: as `publishable`. Throws `SVC_EVENT_RESERVED` for one of the daemon's own types, or with an id of its form. */
export function takenEvent(plugin: string, given: unknown): Publication {
  const event = publishable(plugin, given);
  if (OWN_TYPES.test(event.type) || event.id?.startsWith("evt_")) throw fail("SVC_EVENT_RESERVED", { plugin, type: event.type });
  return event;
}
