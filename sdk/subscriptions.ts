import type { Envelope } from "./events.ts";

/** An entry of `agents.<id>.subscriptions` (000:L318). All given selectors must hold; an empty or absent one matches anything. */
export interface Subscription {
  readonly kinds?: readonly string[];
  readonly agents?: readonly string[];
  readonly nodes?: readonly string[];
  /** Without case, part of the event's `type` or `summary`. */
  readonly match?: string;
  readonly delivery?: "pull" | "digest" | "wake";
  readonly maxPerHour?: number;
}

/** Does the event concern this subscription? */
export function subscribes(subscription: Subscription, envelope: Envelope): boolean {
  const { kinds = [], agents = [], nodes = [], match = "" } = subscription;
  const wanted = match.toLowerCase();
  return (
    (kinds.length === 0 || kinds.includes(envelope.kind)) &&
    (agents.length === 0 || (envelope.agentId !== undefined && agents.includes(envelope.agentId))) &&
    (nodes.length === 0 || nodes.includes(envelope.node)) &&
    (wanted === "" || envelope.type.toLowerCase().includes(wanted) || envelope.summary.toLowerCase().includes(wanted))
  );
}
