import type { Envelope } from "@svc/sdk";

/** Filters of plain streams (000:L302): all that are given must hold. */
export interface PlainFilter {
  /** Types of events, or names of frames; empty filters nothing. */
  readonly type?: readonly string[];
  readonly workflow?: string;
  readonly run?: string;
  readonly actor?: string;
  readonly channel?: string;
}

/** The kinds that plain streams carry; of agents only the steps, as `task`. */
const PLAIN_KINDS: ReadonlySet<string> = new Set(["run", "task", "signal", "mesh", "channel", "status"]);

/** The name of the event's frame on a plain stream; undefined when it does not appear there. */
export function plainName({ kind, type }: Envelope): string | undefined {
  if (kind === "agent") return type === "task:step" ? "task" : undefined;
  return PLAIN_KINDS.has(kind) ? kind : undefined;
}

/** The kind's own fields plus `rootId` and `node`. A step of an agent says `kind: "task:step"`, since `task` means user tasks. */
export function plainFields({ data, ...envelope }: Envelope): Record<string, unknown> {
  return { ...data, ...envelope, kind: envelope.kind === "agent" ? envelope.type : envelope.kind };
}

/** Whether an event passes a filter of the plain format. */
export function plainPasses({ type = [], workflow, run, actor, channel }: PlainFilter, envelope: Envelope): boolean {
  const { ref, data = {} } = envelope;
  return (
    (type.length === 0 || type.includes(envelope.type) || type.includes(plainName(envelope) ?? "")) &&
    (workflow === undefined || data.workflow === workflow) &&
    (run === undefined || data.run === run || (envelope.kind === "run" && ref === run)) &&
    (actor === undefined || data.actor === actor) &&
    (channel === undefined || data.channel === channel)
  );
}
