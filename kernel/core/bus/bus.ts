import type { Envelope, Events, Publication } from "@svc/sdk";
import { createClock, createEventIds, cutSummary, isEventId, isoTime } from "../../base/event-words.ts";
import { frozenObjects } from "../../base/frozen.ts";
import { createRing } from "../../base/ring.ts";
import { type EnvelopeFilter, passes } from "./filters.ts";
import { createListeners } from "./listeners.ts";
import { createRoots, type Root } from "./roots.ts";

/** Filter of the buffered events; all fields are optional and narrow the result. */
export interface RecentQuery extends EnvelopeFilter {
  /** An event id (exclusive) or an ISO time (inclusive); anything else is ignored. */
  readonly since?: string;
  /** The newest this many. */
  readonly limit?: number;
}

/** Oldest first. `gap`: `since` is an id that is not in the buffer (any more), so the whole buffer was searched. */
export interface Recent {
  readonly events: readonly Envelope[];
  readonly gap?: true;
}

/** The one bus of a process: everything the daemon does is published here (000:L262-320). */
export interface Bus extends Omit<Events, "recent" | "publish" | "inject"> {
  readonly node: string;
  /** `source`: the publishing plugin; the kernel passes none. */
  publish(event: Publication, source?: string): Envelope;
  /** The root of the running work, if it has one. */
  current(): Root | undefined;
  /** Reserves a root id before its first event: it is stored with the message. The first event published under it has it as its id. */
  newRoot(): string;
  /**
   * Injects an event of another node unchanged. False for a duplicate or an event that claims to be ours. `sibling`: from a daemon on the same state,
   * which has acted on the event already: only listeners that subscribed to the siblings receive it. `history`: no listener does, only the buffer.
   */
  inject(envelope: Envelope, from?: "sibling" | "history"): boolean;
  recent(query?: RecentQuery): Recent;
  /** Keeps the newest that fit. */
  resize(ringSize: number): void;
}

/** Options of a bus: the node's id, the size of the ring, and the callback for listeners that throw. */
export interface BusOptions {
  readonly node: string;
  /** Events kept for late readers; at least 1. */
  readonly ringSize: number;
  readonly onListenerError: (error: unknown) => void;
  readonly now?: () => number;
}

/** Most events an agent reads at once. */
const PAGE_EVENTS = 50;
/** Ids of foreign events that are remembered, so that a peer's backfill and its stream give each once. */
const FOREIGN_IDS = 10_000;

/** Creates a bus. Listeners are called synchronously, in the order of publication. */
export function createBus({ node, ringSize, onListenerError, now = Date.now }: BusOptions): Bus {
  const nextId = createEventIds();
  const clock = createClock(now);
  const ring = createRing(ringSize);
  const roots = createRoots(nextId);
  const foreign = new Set<string>();
  // Events that listeners publish belong to the root of the event they received, and have it as parent.
  const around = ({ id, rootId }: Envelope, tell: () => void) => roots.within({ rootId, parentId: id }, tell);
  const listeners = createListeners(around, onListenerError);
  const ofSiblings = createListeners(around, onListenerError);

  function publish(event: Publication, source?: string): Envelope {
    const root = roots.current();
    const id = event.id ?? (root !== undefined && roots.take(root.rootId) ? root.rootId : nextId());
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
    if (source !== undefined) envelope.source = source;
    ring.push(frozenObjects(envelope));
    listeners.tell(envelope);
    return envelope;
  }

  /** Returns the buffered events after `since`. Ids are tried first: a foreign one may have any form. */
  function later(since: string | undefined): Recent {
    if (since === undefined) return { events: ring.all() };
    const after = ring.after(since);
    if (after !== undefined) return { events: after };
    if (isEventId(since)) return { events: ring.all(), gap: true };
    const from = isoTime(since);
    return { events: from === undefined ? ring.all() : ring.all().filter(({ at }) => Date.parse(at) >= from) };
  }

  return {
    node,
    publish,
    current: roots.current,
    newRoot: roots.reserve,
    root: (entry) => roots.within({ rootId: roots.reserve() }, entry),
    within: roots.within,
    subscribe(listener, type, { siblings = false } = {}) {
      const stops = [listeners, ...(siblings ? [ofSiblings] : [])].map((heard) => heard.add(listener, type));
      return () => {
        for (const stop of stops) stop();
      };
    },
    inject(envelope, from) {
      if (envelope.node === node || foreign.has(envelope.id)) return false;
      foreign.add(envelope.id);
      if (foreign.size > FOREIGN_IDS) foreign.delete(foreign.values().next().value as string);
      ring.push(frozenObjects(envelope));
      if (from !== "history") (from === undefined ? listeners : ofSiblings).tell(envelope);
      return true;
    },
    recent({ since, limit, ...filter } = {}) {
      const { events: found, ...gap } = later(since);
      const events = found.filter((envelope) => passes(filter, envelope, node));
      if (limit === undefined) return { events, ...gap };
      return { events: limit > 0 ? events.slice(-limit) : [], ...gap };
    },
    page(matches, since, limit = PAGE_EVENTS) {
      const most = Math.max(1, Math.min(limit, PAGE_EVENTS));
      const { events: found, ...gap } = later(since);
      const known = found.filter(matches);
      const events = since === undefined ? known.slice(-most) : known.slice(0, most);
      return { events, next: events.at(-1)?.id ?? since ?? null, ...gap };
    },
    resize: ring.resize,
  };
}
