import type { Envelope } from "@svc/sdk";

/** Filter of a reader of envelopes (000:L298): `kind` takes families, `skip` excludes types. Empty lists filter nothing. */
export interface EnvelopeFilter {
  readonly kind?: readonly string[];
  readonly skip?: readonly string[];
  /** `local`: only events of this node. */
  readonly origin?: string;
  readonly agent?: string;
}

/** A comma list of a query, without empty entries. */
export const commaList = (text: string | undefined): string[] =>
  (text ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);

/** Whether an event passes a filter; `node` is this daemon's id, against which `origin` is compared. */
export function passes(filter: EnvelopeFilter, envelope: Envelope, node: string): boolean {
  const { kind = [], skip = [], origin, agent } = filter;
  return (
    (kind.length === 0 || kind.includes(envelope.kind)) &&
    !skip.includes(envelope.type) &&
    (origin !== "local" || envelope.node === node) &&
    (agent === undefined || envelope.agentId === agent)
  );
}
