import { type Envelope, type Log, reasonOf } from "@svc/sdk";
import { paced } from "../base/paced.ts";
import type { StateStore } from "../base/state-store.ts";
import type { Bus } from "../core/bus/bus.ts";

/** Dependencies of the exchange. */
export interface SiblingEventsDeps {
  readonly exchange: NonNullable<StateStore["exchange"]>;
  readonly hints?: StateStore["hints"];
  readonly bus: Pick<Bus, "node" | "publish" | "subscribe" | "inject">;
  readonly log: Log;
}

/** Delay before an event is sent to waiting daemons: later ones in that time are batched with it. */
const GATHER_MS = 50;
/** Events that wait for the store; older ones are let go, and the others see that they are missing. */
const WAITING = 5_000;

/**
 * Exchanges events between daemons on one state: each call sends the events of this daemon since the last call and receives those of the others. So
 * readers of one daemon receive all. Events from before the first call are history: the buffer gets them, but no stream does.
 */
export function createSiblingEvents({ exchange, hints, bus, log }: SiblingEventsDeps): () => Promise<void> {
  let waiting: string[] = [];
  /** The number of the first that waits. */
  let first = 1;
  let from: "history" | "sibling" = "history";
  let failing = false;

  bus.subscribe((envelope) => {
    waiting.push(JSON.stringify(envelope));
    if (hints?.others === true) soon();
    if (waiting.length <= WAITING) return;
    waiting.shift();
    first += 1;
  });

  const look = async () => {
    // While the store works, more events may arrive and the oldest may be dropped.
    const [sent, at] = [[...waiting], first];
    try {
      const news = await exchange(at, sent);
      const taken = Math.max(0, at + sent.length - first);
      waiting = waiting.slice(taken);
      first += taken;
      failing = false;
      if (sent.length > 0) hints?.tell();
      for (const { node, values, missed } of news) {
        if (missed > 0) {
          const summary = `${missed} events of node ${node} did not come here; ask that node itself for them`;
          bus.publish({ kind: "status", type: "status", summary, data: { state: "gap", gap: true, node, missed } });
        }
        for (const value of values) bus.inject(JSON.parse(value) as Envelope, from);
      }
      from = "sibling";
    } catch (error) {
      if (!failing) log.warn({ reason: reasonOf(error) }, "events of the other daemons on this store are not heard; tried again until they are");
      failing = true;
    }
  };

  let looking: Promise<void> = Promise.resolve();
  const alone = () => (looking = looking.then(look));
  const soon = paced(alone, GATHER_MS);
  hints?.hear(soon);
  return alone;
}
