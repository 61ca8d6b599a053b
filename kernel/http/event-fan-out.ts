import type { Envelope } from "@svc/sdk";
import type { Bus } from "../core/bus/bus.ts";
import { type EnvelopeFilter, passes } from "../core/bus/filters.ts";
import { frameOf } from "./event-stream.ts";
import { type PlainFilter, plainFields, plainName, plainPasses } from "./plain-events.ts";

/** The methods of a stream that the fan-out needs; `ServerResponse` has them. */
export interface FanOutStream {
  write(chunk: string): boolean;
  /** Bytes that the client has not taken yet. */
  readonly writableLength: number;
  end(): void;
}

/** The format in which a stream wants its events, with the filter of that format. */
export type FanOutRequest = { readonly format: "envelope"; readonly filter?: EnvelopeFilter } | { readonly format: "plain"; readonly filter?: PlainFilter };

/**
 * One bus, many event streams. An event is serialised once for each format and filtered once for all streams that ask the same;
 * a stream gets one write a tick.
 */
export interface FanOut {
  /**
   * Adds a stream; the returned function removes it without ending it. `dropped` is called when it was too slow: it got a last status with the
   * position to resume from, and was ended.
   */
  add(stream: FanOutStream, request: FanOutRequest, dropped?: () => void): () => void;
  readonly size: number;
}

interface Reader {
  readonly stream: FanOutStream;
  readonly group: Group;
  readonly dropped: (() => void) | undefined;
  /** When something was last written, by the monotonic clock. */
  wroteAt: number;
}

/** Streams with the same request. */
interface Group {
  readonly key: string;
  readonly request: FanOutRequest;
  readonly readers: Set<Reader>;
  /** Frames of this tick. */
  pending: string;
  lastId: string;
}

/** A stalled client that swallowed this much is dropped, so that it costs others nothing. */
const TOO_FAR_BEHIND = 1_048_576;
const KEEP_ALIVE_MS = 15_000;

/** Creates the fan-out of one bus; it subscribes when the first stream opens. */
export function createFanOut(bus: Bus): FanOut {
  const groups = new Map<string, Group>();
  /** Groups by the agent that they filter for; without a filter under the empty name. An event concerns two lists at most. */
  const byAgent = new Map<string, Set<Group>>();
  let size = 0;
  let unsubscribe = (): void => {};
  /** Groups with frames of this tick. */
  const waiting = new Set<Group>();
  let keepAlive: NodeJS.Timeout | undefined;

  function hear(envelope: Envelope): void {
    const frames = new Frames(envelope);
    for (const group of byAgent.get("") ?? []) offer(group, frames);
    if (envelope.agentId) for (const group of byAgent.get(envelope.agentId) ?? []) offer(group, frames);
  }

  function offer(group: Group, frames: Frames): void {
    const frame = frames.for(group.request, bus.node);
    if (frame === undefined) return;
    group.pending += frame;
    group.lastId = frames.envelope.id;
    if (waiting.size === 0) setImmediate(flush);
    waiting.add(group);
  }

  function flush(): void {
    const due = [...waiting];
    waiting.clear();
    for (const group of due) send(group);
  }

  function send(group: Group): void {
    const { pending } = group;
    if (pending === "") return;
    group.pending = "";
    for (const reader of group.readers) {
      write(reader, pending);
      if (reader.stream.writableLength > TOO_FAR_BEHIND) drop(reader);
    }
  }

  function write(reader: Reader, frames: string): void {
    reader.wroteAt = performance.now();
    reader.stream.write(frames);
  }

  function drop(reader: Reader): void {
    remove(reader);
    const { lastId, request } = reader.group;
    const summary = "this stream was read too slowly and ends; read on with since at /events/recent";
    reader.stream.write(statusFrame(request.format, summary, { state: "gap", gap: true, since: lastId }));
    reader.stream.end();
    reader.dropped?.();
  }

  /** Status message for one reader, in its own format. Not an event: no other reader receives it and the ring does not hold it. */
  function statusFrame(format: FanOutRequest["format"], summary: string, data: Record<string, unknown>): string {
    const id = bus.newRoot();
    const status: Envelope = { id, rootId: id, node: bus.node, kind: "status", type: "status", at: new Date().toISOString(), summary, data };
    return format === "plain" ? frameOf("status", plainFields(status)) : frameOf("envelope", status);
  }

  function remove(reader: Reader): void {
    const { group } = reader;
    if (!group.readers.delete(reader)) return;
    size -= 1;
    if (group.readers.size === 0) {
      groups.delete(group.key);
      const name = agentOf(group.request);
      const others = byAgent.get(name);
      others?.delete(group);
      if (others?.size === 0) byAgent.delete(name);
    }
    if (size > 0) return;
    unsubscribe();
    clearTimeout(keepAlive);
    keepAlive = undefined;
  }

  /** Comments to the idle streams, then sleep until the next one would have been idle for long enough. */
  function comfort(): void {
    let next = KEEP_ALIVE_MS;
    for (const { readers } of groups.values()) {
      for (const reader of readers) {
        const left = reader.wroteAt + KEEP_ALIVE_MS - performance.now();
        if (left <= 1) write(reader, ": idle\n\n");
        else next = Math.min(next, left);
      }
    }
    keepAlive = setTimeout(comfort, next).unref();
  }

  function groupOf(request: FanOutRequest): Group {
    const key = JSON.stringify([request.format, Object.entries(request.filter ?? {}).sort()]);
    const known = groups.get(key);
    if (known !== undefined) {
      // A joining reader receives later events only, not those pending until the end of this tick.
      send(known);
      return known;
    }
    const group: Group = { key, request, readers: new Set(), pending: "", lastId: "" };
    groups.set(key, group);
    const name = agentOf(request);
    byAgent.set(name, (byAgent.get(name) ?? new Set()).add(group));
    return group;
  }

  return {
    get size() {
      return size;
    },
    add(stream, request, dropped) {
      const group = groupOf(request);
      const reader: Reader = { stream, group, dropped, wroteAt: performance.now() };
      group.readers.add(reader);
      size += 1;
      if (size === 1) unsubscribe = bus.subscribe(hear, undefined, { siblings: true });
      keepAlive ??= setTimeout(comfort, KEEP_ALIVE_MS).unref();
      if (request.format === "plain") write(reader, statusFrame("plain", "connected", { state: "connected" }));
      return () => remove(reader);
    },
  };
}

const agentOf = (request: FanOutRequest): string => (request.format === "envelope" ? (request.filter?.agent ?? "") : "");

/** The frames of one event, each serialised when the first stream wants it. */
class Frames {
  readonly envelope: Envelope;
  #whole: string | undefined;
  #plain: string | undefined;

  constructor(envelope: Envelope) {
    this.envelope = envelope;
  }

  /** Undefined when the event is not for such streams. */
  for({ format, filter }: FanOutRequest, node: string): string | undefined {
    if (format === "envelope") {
      if (filter !== undefined && !passes(filter, this.envelope, node)) return undefined;
      this.#whole ??= frameOf("envelope", this.envelope);
      return this.#whole;
    }
    const name = plainName(this.envelope);
    if (name === undefined || (filter !== undefined && !plainPasses(filter, this.envelope))) return undefined;
    this.#plain ??= frameOf(name, plainFields(this.envelope));
    return this.#plain;
  }
}
