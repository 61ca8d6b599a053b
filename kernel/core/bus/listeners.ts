import type { Envelope } from "@svc/sdk";
import { fail } from "../../base/errors.ts";

/** Handles one event; must not block. */
export type Listener = (envelope: Envelope) => void;

/**
 * The listeners of the bus. Each receives events in the order in which they were published, also those that another listener publishes while it
 * handles one. A listener that throws does not affect the others.
 */
export interface Listeners {
  /** Registers a listener for every event, or those of one type, from the next one on. Returns the function that removes it, effective at once. */
  add(listener: Listener, type: string | undefined): () => void;
  /** Throws `SVC_EVENT_LOOP` when listeners have answered events with events too often without a pause. */
  tell(envelope: Envelope): void;
}

interface ListenerEntry {
  readonly listener: Listener;
  live: boolean;
}

/** Events that answer events, from listener to listener, without anything in between. */
const LONGEST_CHAIN = 16;
const NOBODY: readonly ListenerEntry[] = [];

/** `around` wraps the dispatch of one event, `onError` receives errors of listeners. */
export function createListeners(around: (envelope: Envelope, tell: () => void) => void, onError: (error: unknown) => void): Listeners {
  // Replaced at each change, never mutated: a dispatch in progress continues with the list it started with.
  let everyone = NOBODY;
  const byType = new Map<string, readonly ListenerEntry[]>();
  let waiting: { readonly envelope: Envelope; readonly links: number }[] | undefined;
  let links = 0;

  function hand(entries: readonly ListenerEntry[], envelope: Envelope): void {
    for (const entry of entries) {
      if (!entry.live) continue;
      try {
        entry.listener(envelope);
      } catch (error) {
        onError(error);
      }
    }
  }

  function tellNow(envelope: Envelope, typed: readonly ListenerEntry[]): void {
    around(envelope, () => {
      hand(everyone, envelope);
      hand(typed, envelope);
    });
  }

  return {
    add(listener, type) {
      const entry: ListenerEntry = { listener, live: true };
      if (type === undefined) everyone = [...everyone, entry];
      else byType.set(type, [...(byType.get(type) ?? NOBODY), entry]);
      return () => {
        if (!entry.live) return;
        entry.live = false;
        const others = (entries: readonly ListenerEntry[]) => entries.filter((other) => other !== entry);
        if (type === undefined) everyone = others(everyone);
        else {
          const left = others(byType.get(type) ?? NOBODY);
          if (left.length === 0) byType.delete(type);
          else byType.set(type, left);
        }
      };
    },
    tell(envelope) {
      const typed = byType.get(envelope.type) ?? NOBODY;
      if (everyone.length === 0 && typed.length === 0) return;
      if (waiting !== undefined) {
        if (links >= LONGEST_CHAIN) throw fail("SVC_EVENT_LOOP", { type: envelope.type });
        waiting.push({ envelope, links: links + 1 });
        return;
      }
      waiting = [];
      try {
        tellNow(envelope, typed);
        // Grows during iteration: events published by listeners are dispatched after the current one.
        for (const next of waiting) {
          links = next.links;
          tellNow(next.envelope, byType.get(next.envelope.type) ?? NOBODY);
        }
      } finally {
        waiting = undefined;
        links = 0;
      }
    },
  };
}
