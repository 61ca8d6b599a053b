import type { Envelope, EventStream, HttpRoute, PluginContext } from "@svc/sdk";
import type { Daemon } from "./daemon.ts";
import type { Daemons } from "./daemons.ts";
import { lookAt, snapshot } from "./reads.ts";

const LOOK_MS = 5_000;
/** Many events of one moment give one look. */
const SETTLE_MS = 200;

/**
 * `GET /api/live/stream` (000:L209): a `snapshot` as `GET /api/live` answers it, then what changes: `event` for each event of the daemon the
 * dashboard runs in, `daemon` for each daemon that stands otherwise than before. Nothing is missed in between; an event of the moment of
 * the snapshot may come although it is in it. Frames carry their number in the stream as `id`, from 0: one that is left out never came.
 */
export function liveStreamRoute(daemons: Daemons, { events, signal }: Pick<PluginContext, "events" | "signal">): HttpRoute {
  const feed = createFeed(daemons, events, signal);
  return {
    server: "dashboard",
    method: "GET",
    path: "/api/live/stream",
    guard: "scope:dashboard:read",
    async handle(_request, reply) {
      const stream = reply.stream();
      const early: [name: string, data: unknown][] = [];
      let frames = 0;
      const write = (name: string, data: unknown): boolean => stream.event(name, data, String(frames++));
      let send = (name: string, data: unknown): boolean => early.push([name, data]) > 0;
      feed.add((name, data) => send(name, data));
      write("snapshot", await snapshot(daemons));
      for (const [name, data] of early) write(name, data);
      send = write;
    },
  };
}

/** False when the listener has gone. */
type Listener = (...frame: Parameters<EventStream["event"]>) => boolean;

/** Creates the feed of changes for all watchers; idle without one. */
function createFeed({ all, main }: Daemons, events: PluginContext["events"], signal: AbortSignal): { add(listener: Listener): void } {
  const listeners = new Set<Listener>();
  const last = new Map<Daemon, string>();
  let unsubscribe: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  let soon: NodeJS.Timeout | undefined;

  const send: Listener = (name, data) => {
    for (const listener of listeners) if (!listener(name, data)) listeners.delete(listener);
    if (listeners.size === 0) rest();
    return true;
  };
  const look = async (daemon: Daemon) => {
    const view = await lookAt(daemon);
    const text = JSON.stringify(view);
    if (listeners.size === 0 || last.get(daemon) === text) return;
    last.set(daemon, text);
    send("daemon", view);
  };
  const hear = (envelope: Envelope) => {
    send("event", envelope);
    if (envelope.kind !== "agent" && envelope.kind !== "message") return;
    soon ??= setTimeout(() => {
      soon = undefined;
      void look(main);
    }, SETTLE_MS);
  };
  const rest = () => {
    unsubscribe?.();
    unsubscribe = undefined;
    clearInterval(timer);
    clearTimeout(soon);
    timer = soon = undefined;
    last.clear();
  };
  signal.addEventListener("abort", rest, { once: true });

  return {
    add(listener) {
      listeners.add(listener);
      if (unsubscribe !== undefined) return;
      unsubscribe = events.subscribe(hear, undefined, { siblings: true });
      timer = setInterval(() => {
        for (const daemon of all) void look(daemon);
      }, LOOK_MS).unref();
    },
  };
}
