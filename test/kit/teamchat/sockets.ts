import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { World } from "./world.ts";

/** Why the platform ends a connection. */
export type DisconnectReason = "warning" | "refresh_requested" | "link_disabled" | "too_many_websockets";

/** How envelopes travel. */
export interface Delivery {
  /** Called for each envelope as it goes out: `double` sends it over two envelopes, `lose` does not send it this time, `late` behind the next one. */
  fault: (type: string) => "double" | "lose" | "late" | undefined;
  /** How long an acknowledgement may take, in milliseconds. */
  ackMs: number;
  /** The pauses before an event that was not acknowledged comes again. After the last one it is given up. */
  retryMs: readonly number[];
}

interface Waiting {
  readonly event: Record<string, unknown>;
  readonly type: string;
  readonly retried: boolean;
  attempt: number;
  timer?: NodeJS.Timeout;
}

interface Connection {
  readonly socket: WebSocket;
  readonly appToken: string;
  warned: boolean;
}

/** The socket-mode half: connections by ticket, envelopes and their acknowledgements. */
export interface SocketMode {
  readonly delivery: Delivery;
  /** Ids of envelopes in the order of their acknowledgement. */
  readonly acknowledged: string[];
  readonly problems: string[];
  /** Connections so far, refused ones included. */
  attempts(): number;
  open(appToken?: string): number;
  ticket(appToken: string, url: string): string;
  /** An event that is offered until it is acknowledged, at most so often as `retryMs` says. `retried` false: offered once (a press, a command). */
  offer(appToken: string, type: string, payload: Record<string, unknown>, retried?: boolean): void;
  /** Events that wait for their acknowledgement or for the next try. */
  pending(): number;
  /** Says so on each open connection; a warned one is closed by the server after `closeMs`. */
  disconnect(reason: DisconnectReason, closeMs?: number): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  cutAll(): void;
  refuse(on: boolean): void;
  close(): void;
}

export function createSocketMode(world: World): SocketMode {
  const server = new WebSocketServer({ noServer: true });
  const tickets = new Map<string, string>();
  const connections = new Set<Connection>();
  const waiting = new Map<string, Waiting>();
  const timers = new Set<NodeJS.Timeout>();
  const held: (() => void)[] = [];
  let attempts = 0;
  let refusing = false;
  let turn = 0;

  const later = (ms: number, work: () => void): NodeJS.Timeout => {
    const timer = setTimeout(() => {
      timers.delete(timer);
      work();
    }, ms);
    timer.unref();
    timers.add(timer);
    return timer;
  };

  const mode: SocketMode = {
    delivery: { fault: () => undefined, ackMs: 3_000, retryMs: [100, 500, 2_000] },
    acknowledged: [],
    problems: [],
    attempts: () => attempts,
    open: (appToken) => [...connections].filter((one) => appToken === undefined || one.appToken === appToken).length,
    ticket(appToken, url) {
      const ticket = world.id("ticket-");
      tickets.set(ticket, appToken);
      return `${url.replace(/^http/, "ws")}/link/?ticket=${ticket}&app_id=1`;
    },
    offer(appToken, type, payload, retried = true) {
      send(appToken, { event: payload, type, retried, attempt: 0 });
    },
    pending: () => waiting.size,
    disconnect(reason, closeMs = 200) {
      for (const connection of connections) {
        connection.warned = true;
        connection.socket.send(JSON.stringify({ type: "disconnect", reason, debug_info: { host: "far-end" } }));
        later(closeMs, () => connection.socket.close(1000));
      }
    },
    upgrade(request, socket, head) {
      attempts += 1;
      const ticket = new URL(request.url ?? "/", "http://far-end").searchParams.get("ticket") ?? "";
      const appToken = tickets.get(ticket);
      tickets.delete(ticket);
      if (refusing || appToken === undefined) {
        socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
        return;
      }
      server.handleUpgrade(request, socket, head, (client) => welcome(client, appToken));
    },
    cutAll() {
      for (const { socket } of connections) socket.terminate();
      connections.clear();
    },
    refuse: (on) => void (refusing = on),
    close() {
      for (const timer of timers) clearTimeout(timer);
      mode.cutAll();
      server.close();
    },
  };

  function welcome(socket: WebSocket, appToken: string): void {
    const connection: Connection = { socket, appToken, warned: false };
    connections.add(connection);
    socket.on("close", () => connections.delete(connection));
    socket.on("error", () => connections.delete(connection));
    socket.on("message", (data) => heard(String(data)));
    const count = mode.open(appToken);
    const info = { host: "far-end", approximate_connection_time: 3_600 };
    socket.send(JSON.stringify({ type: "hello", num_connections: count, connection_info: { app_id: "A1" }, debug_info: info }));
  }

  function heard(text: string): void {
    let said: { envelope_id?: unknown };
    try {
      said = JSON.parse(text);
    } catch {
      mode.problems.push(`no JSON: ${text}`);
      return;
    }
    const extra = Object.keys(said).find((key) => key !== "envelope_id" && key !== "payload");
    if (typeof said.envelope_id !== "string" || extra !== undefined) {
      mode.problems.push(`no acknowledgement: ${text}`);
      return;
    }
    mode.acknowledged.push(said.envelope_id);
    const found = waiting.get(said.envelope_id);
    if (found === undefined) return;
    clearTimeout(found.timer);
    waiting.delete(said.envelope_id);
  }

  function send(appToken: string, one: Waiting): void {
    const envelope = world.id("env-");
    waiting.set(envelope, one);
    const fault = mode.delivery.fault(one.type);
    one.timer = later(mode.delivery.ackMs, () => again(appToken, envelope, "timeout"));
    const frame = JSON.stringify({
      envelope_id: envelope,
      type: one.type,
      accepts_response_payload: one.type !== "events_api",
      payload: one.event,
      ...(one.type === "events_api" ? { retry_attempt: one.attempt, retry_reason: one.attempt === 0 ? "" : "timeout" } : {}),
    });
    const deliver = () => {
      const open = [...connections].filter((connection) => connection.appToken === appToken && connection.socket.readyState === 1);
      // Either of them may get it, a warned one too.
      const to = open[turn++ % Math.max(1, open.length)];
      if (to === undefined) again(appToken, envelope, "http_error");
      else to.socket.send(frame);
    };
    if (fault === "lose") return;
    if (fault === "late") {
      held.push(deliver);
      later(20, () => flush());
      return;
    }
    deliver();
    flush();
    // The same event with attempt 0 once more.
    if (fault === "double") send(appToken, { ...one });
  }

  function flush(): void {
    for (const deliver of held.splice(0)) deliver();
  }

  function again(appToken: string, envelope: string, _reason: string): void {
    const one = waiting.get(envelope);
    if (one === undefined) return;
    clearTimeout(one.timer);
    waiting.delete(envelope);
    const pause = mode.delivery.retryMs[one.attempt];
    if (!one.retried || pause === undefined) return;
    const next = { ...one, attempt: one.attempt + 1 };
    const key = `${envelope}/retry`;
    waiting.set(key, next);
    next.timer = later(pause, () => {
      waiting.delete(key);
      send(appToken, next);
    });
  }

  return mode;
}
