import type { Envelope } from "@svc/sdk";

/** The last events, oldest first. Not saved: empty after a restart (000:L298). */
export interface Ring {
  push(envelope: Envelope): void;
  /** Keeps the newest that fit; `size` is at least 1. */
  resize(size: number): void;
  /** Events after the one with this id; undefined when that is not (or no longer) buffered. */
  after(id: string): Envelope[] | undefined;
  all(): Envelope[];
}

/** Makes a ring that keeps the newest `initial` events; adding and reading one by its id cost the same at any size. */
export function createRing(initial: number): Ring {
  let size = initial;
  let slots: Envelope[] = [];
  /** Index of the next write once the ring is full: the slot of the oldest event. */
  let next = 0;

  const all = (): Envelope[] => [...slots.slice(next), ...slots.slice(0, next)];
  return {
    push(envelope) {
      if (slots.length < size) {
        slots.push(envelope);
        return;
      }
      slots[next] = envelope;
      next = next + 1 === size ? 0 : next + 1;
    },
    resize(wanted) {
      slots = all().slice(-wanted);
      size = wanted;
      next = 0;
    },
    after(id) {
      const events = all();
      const at = events.findLastIndex((envelope) => envelope.id === id);
      return at === -1 ? undefined : events.slice(at + 1);
    },
    all,
  };
}
