import type { Envelope } from "@svc/sdk";

/** The last events, oldest first. Not saved: empty after a restart (000:L298). */
export interface Ring {
  push(envelope: Envelope): void;
  resize(size: number): void;
  has(id: string): boolean;
  /** How many events come after the one with this id; undefined when it is not (or no longer) here. */
  after(id: string): Envelope[] | undefined;
  all(): Envelope[];
}

export function createRing(initial: number): Ring {
  let size = initial;
  let slots: (Envelope | undefined)[] = new Array(size);
  let next = 0;
  let count = 0;

  const all = (): Envelope[] => {
    const start = (next - count + size) % size;
    return Array.from({ length: count }, (_, at) => slots[(start + at) % size] as Envelope);
  };
  return {
    push(envelope) {
      slots[next] = envelope;
      next = next + 1 === size ? 0 : next + 1;
      if (count < size) count += 1;
    },
    resize(wanted) {
      if (wanted === size) return;
      const kept = all().slice(-wanted);
      size = wanted;
      slots = new Array(size);
      for (const [at, envelope] of kept.entries()) slots[at] = envelope;
      count = kept.length;
      next = count % size;
    },
    has: (id) => all().some((envelope) => envelope.id === id),
    after(id) {
      const events = all();
      const at = events.findLastIndex((envelope) => envelope.id === id);
      return at === -1 ? undefined : events.slice(at + 1);
    },
    all,
  };
}
