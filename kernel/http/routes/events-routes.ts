import type { HttpRequest, HttpRoute } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";
import { commaList, type EnvelopeFilter } from "../../core/bus/index.ts";
import type { FanOut } from "../event-fan-out.ts";
import type { FrameStream } from "../event-stream.ts";

/** `GET /events` (000:L302): events as they happen. Plain frames of six kinds, a status first; or with `format=envelope` every envelope. */
export function eventsRoute(kernel: Pick<Kernel, "bus">): HttpRoute {
  let fanOut: FanOut | undefined;
  return {
    method: "GET",
    path: "/events",
    summary: "Events as they happen, as a stream",
    guard: "peer",
    query: { type: "object", properties: { format: { enum: ["envelope", "plain"] } } },
    async handle({ query, signal }, reply) {
      // Import before the first stream is opened: a client that has its headers misses no event.
      if (fanOut === undefined) {
        const { createFanOut } = await import("../event-fan-out.ts");
        fanOut ??= createFanOut(kernel.bus);
        // The client has disconnected in between: a stream opened now would never be closed.
        if (signal.aborted) return;
      }
      // Every stream of this server takes frames that are serialised already; plugins are only promised events.
      const stream = reply.stream() as FrameStream;
      const { type, workflow, run, actor, channel } = query;
      const plain = { type: commaList(type), ...given({ workflow, run, actor, channel }) };
      stream.onClose(
        fanOut.add(stream, query.format === "envelope" ? { format: "envelope", filter: envelopeFilter(query) } : { format: "plain", filter: plain }),
      );
    },
  };
}

/**
 * `GET /events/recent` (000:L298): the newest `limit` events of the buffer that pass the filters, oldest first. With `keep=oldest` those next after
 * `since`, and `more` says whether others follow: for clients that page through all events.
 */
export function recentEventsRoute(kernel: Pick<Kernel, "bus">): HttpRoute {
  return {
    method: "GET",
    path: "/events/recent",
    summary: "Events of the recent past",
    guard: "peer",
    query: { type: "object", properties: { limit: { type: "integer", minimum: 0 }, keep: { enum: ["newest", "oldest"] } } },
    handle({ query }) {
      const { since, limit, keep } = query;
      const asked = { ...envelopeFilter(query), ...(since ? { since } : {}) };
      if (limit === undefined || keep !== "oldest") return kernel.bus.recent({ ...asked, ...(limit === undefined ? {} : { limit: Number(limit) }) });
      const { events, ...gap } = kernel.bus.recent(asked);
      return { events: events.slice(0, Number(limit)), more: events.length > Number(limit), ...gap };
    },
  };
}

function envelopeFilter({ kind, skip, origin, agent }: HttpRequest["query"]): EnvelopeFilter {
  return { kind: commaList(kind), skip: commaList(skip), ...given({ origin, agent }) };
}

/** Removes absent and empty parameters. */
const given = (filter: Record<string, string | undefined>): Record<string, string> =>
  Object.fromEntries(Object.entries(filter).filter((entry): entry is [string, string] => Boolean(entry[1])));
