import { type Envelope, type Log, reasonOf } from "@svc/sdk";
import { paced } from "../base/paced.ts";
import type { StateStore } from "../base/state-store.ts";
import type { Bus } from "../core/bus/bus.ts";

/** What the exchange stands on. */
export interface SiblingEventsDeps {
  readonly exchange: NonNullable<StateStore["exchange"]>;
  readonly hints?: StateStore["hints"];
  readonly bus: Pick<Bus, "node" | "publish" | "subscribe" | "inject">;
  readonly log: Log;
}

/** How soon what happens is told where somebody waits to be woken: what happens in between goes along. */
const GATHER_MS = 50;
/** Events that wait for the store; older ones are let go, and the others see that they are missing. */
const WAITING = 5_000;

/**
 * What daemons on one state tell each other: each call hands over what happened here since the last one and takes in what happened elsewhere.
 * Readers of one daemon so hear all. What the others told before the first call is history: the buffer has it, and no stream is told.
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
    // More may come, and the oldest of them go, while the store is asked.
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
