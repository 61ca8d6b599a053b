import type { Envelope } from "@svc/sdk";
import type { Bus } from "./bus.ts";
import { type EnvelopeFilter, passes } from "./filters.ts";

/** What a stream must be able to do: a `ServerResponse` can. */
export interface FanOutStream {
  write(chunk: string): boolean;
  readonly writableLength: number;
  end(): void;
}

/** Filters of plain streams (000:L302). */
export interface PlainFilter {
  readonly type?: readonly string[];
  readonly workflow?: string;
  readonly run?: string;
  readonly actor?: string;
  readonly channel?: string;
}

export type FanOutRequest = { readonly format: "envelope"; readonly filter?: EnvelopeFilter } | { readonly format: "plain"; readonly filter?: PlainFilter };

/** One bus, many event streams: an event is serialised once and each stream gets one write a tick. */
export interface FanOut {
  /** Adds a stream; the answer takes it out again. `dropped` is called when it was too slow and has been ended. */
  add(stream: FanOutStream, request: FanOutRequest, dropped?: () => void): () => void;
  readonly size: number;
}

interface Reader {
  readonly stream: FanOutStream;
  readonly request: FanOutRequest;
  readonly dropped: (() => void) | undefined;
  pending: string;
  /** Something was sent since the last look of the keep-alive. */
  busy: boolean;
}

/** A stalled client swallows this much and is then dropped, so that it costs others nothing. */
const TOO_FAR_BEHIND = 1_048_576;
const KEEP_ALIVE_MS = 15_000;
/** The kinds that plain streams carry; agent steps come as `task`. */
const PLAIN_KINDS: ReadonlySet<string> = new Set(["run", "task", "signal", "mesh", "channel", "status"]);

export function createFanOut(bus: Bus): FanOut {
  const readers = new Set<Reader>();
  const waiting = new Set<Reader>();
  let unsubscribe: (() => void) | undefined;
  let keepAlive: NodeJS.Timeout | undefined;
  let scheduled = false;

  const spread = (envelope: Envelope) => {
    let whole: string | undefined;
    let plain: string | undefined;
    for (const reader of readers) {
      const { request } = reader;
      if (request.format === "envelope") {
        if (request.filter !== undefined && !passes(request.filter, envelope, bus.node)) continue;
        whole ??= `event: envelope\ndata: ${JSON.stringify(envelope)}\n\n`;
        queue(reader, whole);
      } else if (isPlain(envelope) && (request.filter === undefined || plainPasses(request.filter, envelope))) {
        plain ??= plainFrame(envelope);
        queue(reader, plain);
      }
    }
  };

  const queue = (reader: Reader, frame: string) => {
    reader.pending += frame;
    waiting.add(reader);
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  const flush = () => {
    scheduled = false;
    for (const reader of waiting) {
      const { stream, pending } = reader;
      reader.pending = "";
      reader.busy = true;
      stream.write(pending);
      if (stream.writableLength > TOO_FAR_BEHIND) drop(reader);
    }
    waiting.clear();
  };

  const drop = (reader: Reader) => {
    remove(reader);
    reader.stream.write('event: gap\ndata: {"reason":"this client reads too slowly; read /events/recent and connect again"}\n\n');
    reader.stream.end();
    reader.dropped?.();
  };

  const remove = (reader: Reader) => {
    readers.delete(reader);
    waiting.delete(reader);
    if (readers.size > 0) return;
    unsubscribe?.();
    unsubscribe = undefined;
    clearInterval(keepAlive);
    keepAlive = undefined;
  };

  const comfort = () => {
    for (const reader of readers) {
      if (!reader.busy && reader.request.format === "envelope") reader.stream.write(": idle\n\n");
      reader.busy = false;
    }
  };

  return {
    get size() {
      return readers.size;
    },
    add(stream, request, dropped) {
      const reader: Reader = { stream, request, dropped, pending: "", busy: false };
      readers.add(reader);
      unsubscribe ??= bus.subscribe(spread);
      keepAlive ??= setInterval(comfort, KEEP_ALIVE_MS).unref();
      if (request.format === "plain") stream.write(`event: status\ndata: ${JSON.stringify({ kind: "status", state: "connected", node: bus.node })}\n\n`);
      return () => remove(reader);
    },
  };
}

const isPlain = ({ kind, type }: Envelope) => (kind === "agent" ? type === "task:step" : PLAIN_KINDS.has(kind));

/** `event: <kind>` with that kind's own fields plus `rootId` and `node`; a step of an agent is a `task` of kind `task:step`. */
function plainFrame({ kind, type, rootId, node, at, summary, agentId, ref, data }: Envelope): string {
  const step = kind === "agent";
  const fields = {
    kind: step ? "task:step" : kind,
    type,
    at,
    summary,
    ...(agentId === undefined ? {} : { agentId }),
    ...(ref === undefined ? {} : { ref }),
    ...data,
    rootId,
    node,
  };
  return `event: ${step ? "task" : kind}\ndata: ${JSON.stringify(fields)}\n\n`;
}

function plainPasses({ type = [], workflow, run, actor, channel }: PlainFilter, { type: own, ref, data = {} }: Envelope): boolean {
  return (
    (type.length === 0 || type.includes(own)) &&
    (workflow === undefined || data.workflow === workflow) &&
    (run === undefined || data.run === run || ref === run) &&
    (actor === undefined || data.actor === actor) &&
    (channel === undefined || data.channel === channel)
  );
}
