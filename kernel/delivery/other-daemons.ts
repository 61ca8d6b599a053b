import { type Envelope, onAbort } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { DeliveriesDeps } from "../core/flow/deliveries-port.ts";

/** How a delivery that is waited for ended. */
type Settle = (id: string, end: { readonly platformId: string } | Error) => void;

/** So often it is looked whether another daemon has left something in the outbox of a channel that this one serves. */
const LOOK_EVERY_MS = 1_000;

const ELSEWHERE = "another daemon on this store was told so";

/** How a delivery ended, as another daemon on the store tells of it; undefined where the event is of something else. */
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
 * What other daemons on the store leave to this one, and what they have sent of that which is waited for here, until `signal` aborts. With a
 * store that one daemon uses alone there is nothing to attend to.
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
    // The answer of a turn that another daemon has run lies in the outbox by now.
    else if (envelope.type === "task:completed" && envelope.node !== bus.node) look();
  };
  // What happens here settles first.
  const unhear = bus.subscribe((envelope) => queueMicrotask(() => hear(envelope)), undefined, { siblings: true });
  onAbort(signal, () => {
    clearInterval(looker);
    unhear();
  });
}
