import type { Publication } from "@svc/sdk";
import { eventFault } from "@svc/sdk/host";
import { fail } from "./errors.ts";

/** Types reserved for the daemon: others rely on them. */
const OWN_TYPES = /^(?:task|plugin|delivery):|^message:matched$/;

/** Returns a plugin's event. Throws `SVC_EVENT_INVALID` for one that listeners could not use. */
export function publishable(plugin: string, event: unknown): Publication {
  const reason = eventFault(event);
  if (reason === undefined) return event as Publication;
  const { type } = (event ?? {}) as { readonly type?: unknown };
  throw fail("SVC_EVENT_INVALID", { plugin, type: typeof type === "string" ? type : "", reason });
}

/** Returns a plugin's event that the daemon tells: as `publishable`. Throws `SVC_EVENT_RESERVED` for one that only the daemon publishes. */
export function takenEvent(plugin: string, given: unknown): Publication {
  const event = publishable(plugin, given);
  if (OWN_TYPES.test(event.type) || event.id?.startsWith("evt_")) throw fail("SVC_EVENT_RESERVED", { plugin, type: event.type });
  return event;
}
