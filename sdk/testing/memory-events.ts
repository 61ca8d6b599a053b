import type { Envelope, Events, Publication } from "../events.ts";

/** An event bus in memory. */
export interface MemoryEvents extends Events {
  readonly published: readonly Envelope[];
}

/**
 * Publishes to its own listeners and keeps everything. Ids count up from `evt_1`. A root reaches as far as the synchronous part of
 * `root` and `within`: enough to see that an entry point opens one.
 */
export function createMemoryEvents(node = "test"): MemoryEvents {
  const published: Envelope[] = [];
  const listeners = new Set<(envelope: Envelope) => void>();
  let root: { rootId?: string; parentId?: string } = {};
  let opened = 0;
  const under = <T>(next: typeof root, work: () => T): T => {
    const before = root;
    root = next;
    try {
      return work();
    } finally {
      root = before;
    }
  };
  const later = (since: string | undefined): { events: readonly Envelope[]; gap?: true } => {
    const at = published.findIndex(({ id }) => id === since);
    return { events: published.slice(at + 1), ...(since !== undefined && at === -1 ? { gap: true as const } : {}) };
  };
  return {
    published,
    publish(event: Publication) {
      const id = `evt_${published.length + 1}`;
      const envelope: Envelope = {
        id,
        rootId: root.rootId ?? id,
        ...(root.parentId ? { parentId: root.parentId } : {}),
        node,
        at: new Date().toISOString(),
        ...event,
      };
      published.push(envelope);
      for (const listener of [...listeners]) listener(envelope);
      return envelope;
    },
    subscribe(listener, type) {
      const hear = (envelope: Envelope) => {
        if (type === undefined || envelope.type === type) listener(envelope);
      };
      listeners.add(hear);
      return () => void listeners.delete(hear);
    },
    recent: later,
    page(matches, since, limit = 50) {
      const { events: found, ...gap } = later(since);
      const known = found.filter(matches);
      const events = since === undefined ? known.slice(-limit) : known.slice(0, limit);
      return { events, next: events.at(-1)?.id ?? since ?? null, ...gap };
    },
    current: () => (root.rootId === undefined ? undefined : { rootId: root.rootId, ...(root.parentId === undefined ? {} : { parentId: root.parentId }) }),
    inject(envelope) {
      if (envelope.node === node || published.some(({ id }) => id === envelope.id)) return false;
      published.push(envelope);
      for (const listener of [...listeners]) listener(envelope);
      return true;
    },
    root: (entry) => under({ rootId: `root_${++opened}` }, entry),
    within: (given, work) => under(given, work),
  };
}
