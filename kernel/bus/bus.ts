import { AsyncLocalStorage } from "node:async_hooks";
import type { Envelope, Events, Publication } from "@svc/sdk";
import { createClock, createEventIds, cutSummary, isEventId, isoTime } from "./envelope.ts";
import { type EnvelopeFilter, passes } from "./filters.ts";
import { createRing } from "./ring.ts";

/** The root that work belongs to, and the event that caused it. */
export interface Root {
  readonly rootId: string;
  readonly parentId?: string;
}

export interface RecentQuery extends EnvelopeFilter {
  /** An event id (exclusive) or an ISO time (inclusive); anything else is ignored. */
  readonly since?: string;
  /** The newest this many. */
  readonly limit?: number;
}

/** The one bus of a process: everything the daemon does is published here (000:L15). */
export interface Bus extends Events {
  readonly node: string;
  /** The root of the running work, if it has one. */
  current(): Root | undefined;
  /** Reserve a root id before its first event: it is stored with the message. */
  newRoot(): string;
  /** Take in an event of another node as it is. False when it was here before or claims to be ours. */
  inject(envelope: Envelope): boolean;
  /** Oldest first. `gap`: `since` is an id that is not in the buffer (any more), so all of the buffer is given. */
  recent(query?: RecentQuery): { readonly events: readonly Envelope[]; readonly gap?: true };
  /** Cursor reading for one agent (000:L300): without `since` the newest, with it the oldest after it; at most 50. */
  agentEvents(matches: (envelope: Envelope) => boolean, since?: string, limit?: number): { readonly events: readonly Envelope[]; readonly next: string | null };
  resize(ringSize: number): void;
}

export interface BusOptions {
  readonly node: string;
  readonly ringSize: number;
  readonly onListenerError: (error: unknown) => void;
  readonly now?: () => number;
}

type Listener = (envelope: Envelope) => void;

/** Most events an agent reads at once. */
const AGENT_EVENTS = 50;

export function createBus({ node, ringSize, onListenerError, now = Date.now }: BusOptions): Bus {
  const ids = createEventIds();
  const clock = createClock(now);
  const ring = createRing(ringSize);
  const roots = new AsyncLocalStorage<Root>();
  const everyone = new Set<Listener>();
  const byType = new Map<string, Set<Listener>>();

  function hand(listeners: Iterable<Listener>, envelope: Envelope): void {
    for (const listener of listeners) {
      try {
        listener(envelope);
      } catch (error) {
        onListenerError(error);
      }
    }
  }

  function spread(envelope: Envelope): void {
    ring.push(envelope);
    if (everyone.size > 0) hand(everyone, envelope);
    const typed = byType.get(envelope.type);
    if (typed !== undefined) hand(typed, envelope);
  }

  function publish(event: Publication): Envelope {
    const root = roots.getStore();
    const id = ids.next();
    const envelope: { -readonly [K in keyof Envelope]: Envelope[K] } = {
      id,
      rootId: root === undefined ? id : root.rootId,
      node,
      kind: event.kind,
      type: event.type,
      at: clock(),
      summary: cutSummary(event.summary),
    };
    if (root?.parentId !== undefined) envelope.parentId = root.parentId;
    if (event.agentId !== undefined) envelope.agentId = event.agentId;
    if (event.ref !== undefined) envelope.ref = event.ref;
    if (event.text !== undefined) envelope.text = event.text;
    if (event.data !== undefined) envelope.data = event.data;
    spread(envelope);
    return envelope;
  }

  return {
    node,
    publish,
    current: () => roots.getStore(),
    newRoot: () => ids.next(),
    root: (entry) => roots.run({ rootId: ids.next() }, entry),
    within: (root, work) => roots.run(root, work),
    subscribe(listener, type) {
      if (type === undefined) {
        everyone.add(listener);
        return () => void everyone.delete(listener);
      }
      let typed = byType.get(type);
      if (typed === undefined) {
        typed = new Set();
        byType.set(type, typed);
      }
      const own = typed;
      own.add(listener);
      return () => {
        own.delete(listener);
        if (own.size === 0 && byType.get(type) === own) byType.delete(type);
      };
    },
    inject(envelope) {
      if (envelope.node === node || ring.has(envelope.id)) return false;
      spread(envelope);
      return true;
    },
    recent({ since, limit, ...filter } = {}) {
      let events = ring.all();
      let gap = false;
      if (since !== undefined && isEventId(since)) {
        const later = ring.after(since);
        gap = later === undefined;
        events = later ?? events;
      } else if (since !== undefined) {
        const from = isoTime(since);
        if (from !== undefined) events = events.filter((envelope) => Date.parse(envelope.at) >= from);
      }
      events = events.filter((envelope) => passes(filter, envelope, node));
      if (limit !== undefined) events = limit > 0 ? events.slice(-limit) : [];
      return gap ? { events, gap } : { events };
    },
    agentEvents(matches, since, limit = AGENT_EVENTS) {
      const most = Math.max(1, Math.min(limit, AGENT_EVENTS));
      const { events: later } = this.recent(since === undefined ? {} : { since });
      const known = later.filter(matches);
      const events = since === undefined ? known.slice(-most) : known.slice(0, most);
      return { events, next: events.at(-1)?.id ?? since ?? null };
    },
    resize: (size) => ring.resize(size),
  };
}
