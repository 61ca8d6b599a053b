import type { Events } from "@svc/sdk";
import { peerEnvelope } from "../../base/peer-envelope.ts";
import { isPromise } from "../../base/promise.ts";
import { takenEvent } from "../../base/publishable.ts";
import type { Bus } from "../bus/bus.ts";
import { inScope } from "./call.ts";
import { onDispose, type Scope } from "./scope.ts";

/** The capability `events` of one plugin: its listeners end with it, and one that throws is counted against it. */
export function scopedEvents(
  scope: Scope,
  bus: Bus,
  failed: (scope: Scope, what: string, error: unknown) => void,
  need: (permission: "events:peers") => void,
): Events {
  return {
    publish: (event) => bus.publish(takenEvent(scope.id, event), scope.id),
    recent: (since) => bus.recent(since === undefined ? {} : { since }),
    page: (matches, since, limit) => bus.page(matches, since, limit),
    current: () => bus.current(),
    inject(envelope) {
      need("events:peers");
      return bus.inject(peerEnvelope(envelope));
    },
    root: (entry) => bus.root(entry),
    within: (root, work) => bus.within(root, work),
    subscribe(listener, type, options) {
      const stop = bus.subscribe(
        (envelope) => {
          const threw = (error: unknown) => failed(scope, "event listener", error);
          try {
            const answer: unknown = inScope(scope, () => listener(envelope));
            if (isPromise(answer)) answer.then(undefined, threw);
          } catch (error) {
            threw(error);
          }
        },
        type,
        options,
      );
      return onDispose(scope, stop);
    },
  };
}
