import { randomBytes } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";

/** What becomes of an event on its way: not sent, sent twice, or sent after the next one. */
export type GatewayFault = "drop" | "double" | "late";

interface Session {
  readonly id: string;
  readonly intents: number;
  readonly log: { readonly s: number; readonly t: string; readonly d: unknown }[];
  seq: number;
  socket?: WebSocket;
  late?: string;
}

/** A code and its words. */
type Closing = readonly [code: number, reason: string];

/** What the gateway asks of the server that it belongs to. */
export interface GatewayDeps {
  readonly server: Server;
  token(): string;
  /** Privileged intents that the application has. */
  allowed(): number;
  ready(session: string, resumeUrl: string): unknown;
  /** What follows READY. */
  guilds(): readonly unknown[];
}

/** The gateway: sessions that can be resumed, heartbeats, and trouble when it is asked for. */
export interface Gateway {
  /** Connections, identifies and resumes so far, and the intents of the last identify. */
  readonly counts: { connections: number; identifies: number; resumes: number; heartbeats: number; refused: number; intents: number };
  heartbeatMs: number;
  /** False: heartbeats are taken and not answered. */
  acknowledges: boolean;
  /** False: no connection is taken. */
  open: boolean;
  fault: (event: string) => GatewayFault | undefined;
  /** Tells an event to every session whose intents ask for it. */
  tell(event: string, intent: number, dataFor: (intents: number) => unknown): void;
  /** Repeats the newest event under its old number. */
  repeat(): void;
  /** Cuts all connections without a word; sessions live on. */
  cut(): void;
  /** Closes with a code. */
  close(code: number, reason?: string): void;
  /** Asks clients to come back (op 7). */
  askReconnect(): void;
  /** Ends all sessions: a resume is answered with op 9. */
  forgetSessions(): void;
  /** Ends the running session in front of its client (op 9). */
  invalidate(resumable: boolean): void;
  readonly connected: number;
  end(): void;
}

export const INTENT = { guilds: 1, guildMessages: 1 << 9, directMessages: 1 << 12, messageContent: 1 << 15 } as const;
const PRIVILEGED = (1 << 1) | (1 << 8) | (1 << 15);
const KNOWN = (1 << 26) - 1;
const LARGEST = 4_096;
const SENDS_A_MINUTE = 120;
const IDENTIFY: ReadonlySet<string> = new Set(["token", "properties", "compress", "large_threshold", "shard", "presence", "intents"]);

/** Attaches a gateway to a server. */
export function createGateway({ server, token, allowed, ready, guilds }: GatewayDeps): Gateway {
  const sessions = new Map<string, Session>();
  const sockets = new Set<WebSocket>();
  const wss = new WebSocketServer({ noServer: true, maxPayload: 1_048_576 });
  const raw = new Set<Duplex>();

  server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    gateway.counts.connections += 1;
    const url = new URL(request.url ?? "", "http://x");
    if (!gateway.open) {
      gateway.counts.refused += 1;
      return void socket.destroy();
    }
    raw.add(socket);
    socket.once("close", () => raw.delete(socket));
    socket.on("error", () => {});
    wss.handleUpgrade(request, socket, head, (client) => serve(client, url));
  });

  function serve(socket: WebSocket, url: URL): void {
    sockets.add(socket);
    let session: Session | undefined;
    let sends = 0;
    let beat = Date.now();
    const interval = gateway.heartbeatMs;
    const send = (payload: object) => socket.readyState === socket.OPEN && socket.send(JSON.stringify({ op: 0, d: null, s: null, t: null, ...payload }));
    const watch = setInterval(() => {
      if (Date.now() - beat > interval * 2 + 1_000) socket.close(4009, "Session timed out.");
    }, interval);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearInterval(watch);
      sockets.delete(socket);
      if (session?.socket === socket) delete session.socket;
    });
    if (url.searchParams.get("v") !== "10" || url.searchParams.get("encoding") !== "json") {
      socket.close(4012, "Invalid API version.");
      return;
    }
    send({ op: 10, d: { heartbeat_interval: interval, _trace: ["far-end"] } });

    const identify = (d: Record<string, unknown>): Closing | undefined => {
      if (session !== undefined) return [4005, "Already authenticated."];
      const wrong = identifyProblem(d);
      if (wrong !== undefined) return [4002, wrong];
      if (d.token !== token()) return [4004, "Authentication failed."];
      const intents = d.intents as number;
      if ((intents & ~KNOWN) !== 0) return [4013, "Invalid intent(s)."];
      gateway.counts.identifies += 1;
      gateway.counts.intents = intents;
      if ((intents & PRIVILEGED & ~allowed()) !== 0) return [4014, "Disallowed intent(s)."];
      session = { id: randomBytes(16).toString("hex"), intents, log: [], seq: 0, socket };
      sessions.set(session.id, session);
      push(session, "READY", ready(session.id, resumeUrl()), false);
      for (const guild of guilds()) push(session, "GUILD_CREATE", guild, false);
      return undefined;
    };

    const resume = (d: Record<string, unknown>): Closing | undefined => {
      if (session !== undefined) return [4005, "Already authenticated."];
      const { session_id: id, seq, token: given, ...rest } = d ?? {};
      if (typeof id !== "string" || !Number.isInteger(seq) || Object.keys(rest).length > 0) return [4002, "Error while decoding payload."];
      if (given !== token()) return [4004, "Authentication failed."];
      const found = sessions.get(id);
      if (found === undefined) {
        send({ op: 9, d: false });
        return undefined;
      }
      if ((seq as number) > found.seq) return [4007, "Invalid seq."];
      gateway.counts.resumes += 1;
      found.socket?.close(4000, "Resumed elsewhere.");
      session = found;
      session.socket = socket;
      for (const { s, t, d: data } of session.log) if (s > (seq as number)) send({ s, t, d: data });
      push(session, "RESUMED", { _trace: ["far-end"] }, false);
      return undefined;
    };

    const hear = (data: Buffer, binary: boolean): Closing | undefined => {
      sends += 1;
      if (sends > SENDS_A_MINUTE) return [4008, "You are being rate limited."];
      const frame = binary || data.length > LARGEST ? undefined : frameOf(data);
      if (frame === undefined) return [4002, "Error while decoding payload."];
      if (frame.op === 1) {
        if (frame.d !== null && !Number.isInteger(frame.d)) return [4002, "Error while decoding payload."];
        gateway.counts.heartbeats += 1;
        beat = Date.now();
        if (gateway.acknowledges) send({ op: 11 });
        return undefined;
      }
      if (frame.op === 2) return identify(frame.d as Record<string, unknown>);
      if (frame.op === 6) return resume(frame.d as Record<string, unknown>);
      if (session === undefined) return [4003, "Not authenticated."];
      return frame.op === 3 ? undefined : [4001, "Unknown opcode."];
    };
    socket.on("message", (data: Buffer, binary: boolean) => {
      const closing = hear(data, binary);
      if (closing !== undefined) socket.close(...closing);
    });
  }

  const resumeUrl = () => {
    const address = server.address();
    return `ws://127.0.0.1:${typeof address === "object" ? address?.port : 0}/resume`;
  };

  function push(session: Session, t: string, d: unknown, faulty: boolean): void {
    session.seq += 1;
    const data = JSON.parse(JSON.stringify(d));
    session.log.push({ s: session.seq, t, d: data });
    const { socket } = session;
    if (socket === undefined || socket.readyState !== socket.OPEN) return;
    const frame = JSON.stringify({ op: 0, s: session.seq, t, d: data });
    const fault = faulty ? gateway.fault(t) : undefined;
    const waiting = session.late;
    delete session.late;
    if (fault === "late" && waiting === undefined) {
      session.late = frame;
      // Nothing may follow: then it is only slow.
      setTimeout(() => {
        if (session.late !== frame) return;
        delete session.late;
        if (session.socket === socket) socket.send(frame, () => {});
      }, 50);
      return;
    }
    if (fault !== "drop") socket.send(frame, () => {});
    if (fault === "double") socket.send(frame, () => {});
    if (waiting !== undefined) socket.send(waiting, () => {});
  }

  const gateway: Gateway = {
    counts: { connections: 0, identifies: 0, resumes: 0, heartbeats: 0, refused: 0, intents: 0 },
    heartbeatMs: 41_250,
    acknowledges: true,
    open: true,
    fault: () => undefined,
    tell(event, intent, dataFor) {
      for (const session of sessions.values()) if (intent === 0 || (session.intents & intent) !== 0) push(session, event, dataFor(session.intents), true);
    },
    repeat() {
      for (const { socket, log } of sessions.values()) {
        const newest = log.at(-1);
        if (newest !== undefined) socket?.send(JSON.stringify({ op: 0, ...newest }));
      }
    },
    cut() {
      for (const socket of raw) socket.destroy();
    },
    close(code, reason = "") {
      for (const socket of sockets) socket.close(code, reason);
    },
    askReconnect() {
      for (const { socket } of sessions.values()) socket?.send(JSON.stringify({ op: 7, d: null, s: null, t: null }));
    },
    forgetSessions: () => sessions.clear(),
    invalidate(resumable) {
      for (const { id, socket } of [...sessions.values()]) {
        if (socket === undefined) continue;
        if (!resumable) sessions.delete(id);
        socket.send(JSON.stringify({ op: 9, d: resumable, s: null, t: null }));
      }
    },
    get connected() {
      return [...sessions.values()].filter(({ socket }) => socket !== undefined).length;
    },
    end() {
      gateway.cut();
      wss.close();
    },
  };
  return gateway;
}

function frameOf(data: Buffer): { readonly op?: unknown; readonly d?: unknown } | undefined {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

function identifyProblem(d: Record<string, unknown> | undefined): string | undefined {
  if (typeof d !== "object" || d === null) return "Error while decoding payload.";
  const unknown = Object.keys(d).find((key) => !IDENTIFY.has(key));
  if (unknown !== undefined) return `Unknown field ${unknown}.`;
  const { properties, intents } = d as { properties?: Record<string, unknown>; intents?: unknown };
  if (!Number.isInteger(intents)) return "Error while decoding payload.";
  const named = ["os", "browser", "device"].every((key) => typeof properties?.[key] === "string" || typeof properties?.[`$${key}`] === "string");
  return named ? undefined : "Error while decoding payload.";
}
