import { type Envelope, onAbort } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { DeliveriesDeps } from "../core/flow/deliveries-port.ts";

/** Settles a delivery that a caller waits for. */
type Settle = (id: string, end: { readonly platformId: string } | Error) => void;

/** So often it is looked whether another daemon has left something in the outbox of a channel that this one serves. */
const LOOK_EVERY_MS = 1_000;

const ELSEWHERE = "another daemon on this store was told so";

/** Reads the end of a delivery from an event of another daemon on the store; undefined for other events. */
function endedElsewhere(event: Envelope, ttlMinutes: number): { readonly id: string; readonly end: { readonly platformId: string } | Error } | undefined {
  const { type, ref = "", data: { delivery: id, channel: on, state } = {} } = event;
  if (typeof id !== "string") return undefined;
  const channel = String(on);
  if (type === "out") return { id, end: { platformId: ref } };
  if (type === "delivery:uncertain") return { id, end: fail("SVC_DELIVERY_UNCERTAIN", { channel, reason: ELSEWHERE }) };
  if (state === "delivery-refused") return { id, end: fail("SVC_CHANNEL_REFUSED", { channel, reason: ELSEWHERE }) };
  return state === "delivery-expired" ? { id, end: fail("SVC_DELIVERY_EXPIRED", { channel, minutes: ttlMinutes }) } : undefined;
}

/**
 * Handles deliveries that other daemons on the store leave to this one, and results of deliveries that callers wait for here, until `signal` aborts.
 * With a store that one daemon uses alone it does nothing.
 */
export function attendOthers(
  { store, bus, live }: Pick<DeliveriesDeps, "store" | "bus" | "live">,
  signal: AbortSignal,
  ttlMinutes: number,
  wake: (channel: string) => void,
  settle: Settle,
): void {
  if (store.shared !== true) return;
  const look = () => {
    for (const [channel, { state }] of live().channels) if (state === "ready") wake(channel);
  };
  const looker = setInterval(look, LOOK_EVERY_MS);
  looker.unref();
  const hear = (envelope: Envelope) => {
    const ended = endedElsewhere(envelope, ttlMinutes);
    if (ended !== undefined) settle(ended.id, ended.end);
    // The outbox now contains the answer of a turn that another daemon has run.
    else if (envelope.type === "task:completed" && envelope.node !== bus.node) look();
  };
  // Local results settle first.
  const unhear = bus.subscribe((envelope) => queueMicrotask(() => hear(envelope)), undefined, { siblings: true });
  onAbort(signal, () => {
    clearInterval(looker);
    unhear();
  });
}
