import { backoffMs, type Log, reasonOf, type Sockets, sleep, type WebSocketConnection } from "@svc/sdk";
import type { Api } from "./api.ts";
import { answeredStatus } from "./failure.ts";
import type { Session } from "./position.ts";
import { createSequence, type Dispatch } from "./sequence.ts";
import { INTENTS } from "./wire.ts";

/** Dependencies and callbacks of the gateway. */
export interface GatewayDeps {
  readonly sockets: Sockets;
  readonly api: Api;
  readonly token: string;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** Each event in order, with its number. */
  take(event: Dispatch): void;
  /** A new session: what was said meanwhile comes only from history. */
  began(session: Session): void;
  /** The old session goes on, and has told what was missed. */
  resumed(): void;
  /** Events were given up. */
  lost(): void;
  connected(content: boolean): void;
  /** The connection is lost and retried. `failures` in a row. */
  away(reason: string, failures: number): void;
  /** The connection is refused and not retried. */
  refused(reason: string): void;
}

/** The connection that tells what people write. */
export interface Gateway {
  /** Runs until the signal aborts or the platform refuses for good. Never rejects. */
  run(from: { readonly session: Session; readonly seq: number } | undefined): Promise<void>;
  /** Gives the session up and begins a new one: it has told too little. */
  renew(reason: string): void;
  /** When the last event came, by a clock that runs evenly. */
  readonly heardAt: number;
}

interface Frame {
  readonly op?: unknown;
  readonly s?: unknown;
  readonly t?: unknown;
  readonly d?: unknown;
}

/** A guild with very many channels and members comes as one event. */
const EVENT_BYTES = 64 * 1_048_576;
const HELLO_MS = 20_000;
const READY_MS = 60_000;
const GOODBYE_MS = 500;
const LONGEST_PAUSE_MS = 120_000;
/** After so many failures in a row the platform is asked for another place. */
const ELSEWHERE = 2;
/** Closes that end the session: a new one is begun. */
const SESSION_OVER: ReadonlySet<number> = new Set([4003, 4005, 4007, 4009]);
/** Closes after which trying again would be refused again. */
const REFUSALS: Readonly<Record<number, string>> = {
  4004: "the platform refuses the token; check channels.guildchat.token, or make a new one: svc connect guildchat",
  4010: "the platform refuses the shard of the gateway",
  4011: "this bot is in more guilds than one connection may serve",
  4012: "the platform no longer speaks this version of its gateway; update svc",
  4013: "the platform does not know the intents of this version; update svc",
};
const CONTENT_REFUSED = 4014;
const ALL = INTENTS.guilds | INTENTS.guildMessages | INTENTS.directMessages;
/** A session is left open for the next connection by any code but 1000 and 1001. */
const STAY = 4_900;

/** Makes the gateway; it connects with `run`. */
export function createGateway(deps: GatewayDeps): Gateway {
  const { log, signal } = deps;
  let session: Session | undefined;
  let content = true;
  let heardAt = performance.now();
  let leave: (() => void) | undefined;
  const sequence = createSequence({
    take: (event) => deps.take(event),
    again: () => leave?.(),
    lost: () => deps.lost(),
  });

  /** Where to connect: where the session was, else, and where that cannot be reached, where the platform says. */
  async function address(failures: number): Promise<string> {
    if (session !== undefined && failures < ELSEWHERE) return session.url;
    const { url, session_start_limit: limit } = await deps.api.call<{
      url: string;
      session_start_limit?: { remaining?: number; reset_after?: number };
    }>({ path: "/gateway/bot", signal });
    // One that is taken up again is no new one.
    if (limit?.remaining === 0 && session === undefined) {
      const pauseMs = Math.min(limit.reset_after ?? LONGEST_PAUSE_MS, 86_400_000);
      deps.away(`the platform takes no new session for ${Math.ceil(pauseMs / 60_000)} minutes: too many were begun`, 3);
      await sleep(pauseMs, signal);
    }
    return url;
  }

  /** One connection, from its opening to its end. Answers how it ended. */
  async function connect(failures: number): Promise<{ readonly lived: boolean; readonly code: number; readonly pauseMs?: number }> {
    const url = new URL(await address(failures));
    url.search = new URLSearchParams({ v: "10", encoding: "json" }).toString();
    const cut = new AbortController();
    const end = AbortSignal.any([signal, cut.signal]);
    const trusted = deps.api.trusted.some((origin) => new URL(origin).hostname === url.hostname) ? [url.origin] : [];
    const connection = await deps.sockets.webSocket(url.href, { signal: end, maxBytes: EVENT_BYTES, pingMs: 0, trustedOrigins: trusted });
    const talk = createTalk(connection, cut);
    const resuming = session;
    let lived = false;
    let pauseMs: number | undefined;
    leave = talk.leave;
    try {
      for await (const data of connection.messages) {
        const frame = frameOf(data);
        if (frame === undefined) continue;
        if (frame.op === 0 && typeof frame.s === "number" && typeof frame.t === "string") {
          heardAt = performance.now();
          const { s, t, d } = frame as Dispatch;
          talk.number(s);
          if (t === "READY") {
            const made = sessionOf(d);
            if (made === undefined) throw new Error("the platform began a session without naming it");
            session = made;
            sequence.begin(s - 1);
            deps.began(made);
          }
          sequence.push({ s, t, d });
          if (t === "READY" || t === "RESUMED") {
            lived = true;
            talk.settled();
            if (t === "RESUMED") deps.resumed();
            deps.connected(content);
          }
        } else if (frame.op === 10) {
          talk.beat(Number((frame.d as { heartbeat_interval?: unknown } | undefined)?.heartbeat_interval));
          if (resuming !== undefined) await talk.say(6, { token: deps.token, session_id: resuming.id, seq: sequence.last });
          else {
            const properties = { os: process.platform, browser: "svc", device: "svc" };
            await talk.say(2, { token: deps.token, intents: content ? ALL | INTENTS.messageContent : ALL, properties });
          }
        } else if (frame.op === 1) await talk.say(1, talk.seq);
        else if (frame.op === 11) talk.acknowledged();
        else if (frame.op === 7) talk.leave();
        else if (frame.op === 9) {
          if (frame.d !== true) session = undefined;
          // The platform asks for a pause of one to five seconds here.
          pauseMs = 1_000 + Math.random() * 4_000;
          talk.leave();
        }
      }
      const { code } = await connection.closed;
      return { lived, code, ...(pauseMs === undefined ? {} : { pauseMs }) };
    } finally {
      leave = undefined;
      talk.end();
      cut.abort();
    }
  }

  return {
    get heardAt() {
      return heardAt;
    },
    renew(reason) {
      log.warn({ reason }, "the gateway is connected anew");
      session = undefined;
      leave?.();
    },
    async run(from) {
      session = from?.session;
      sequence.begin(from?.seq ?? 0);
      for (let failures = 0; !signal.aborted; ) {
        let reason: string;
        let pauseMs: number | undefined;
        try {
          const { lived, code, pauseMs: asked } = await connect(failures);
          if (signal.aborted) break;
          if (lived) failures = 0;
          pauseMs = asked;
          reason = `the gateway closed the connection (${code})`;
          const refusal = REFUSALS[code];
          if (refusal !== undefined) return deps.refused(refusal);
          if (code === CONTENT_REFUSED) {
            if (!content) return deps.refused("the platform refuses the intents of this bot");
            content = false;
            session = undefined;
            pauseMs = 0;
          }
          if (SESSION_OVER.has(code)) session = undefined;
        } catch (error) {
          if (signal.aborted) break;
          if (answeredStatus(error) === 401) return deps.refused(REFUSALS[4004] as string);
          reason = reasonOf(error);
        }
        failures += 1;
        deps.away(reason, failures);
        await sleep(pauseMs ?? backoffMs(failures, { firstMs: 300, longestMs: LONGEST_PAUSE_MS }), signal);
      }
      sequence.stop();
    },
  };
}

/** Sends on one connection, and detects a dead far end. */
function createTalk(connection: WebSocketConnection, cut: AbortController) {
  let seq: number | null = null;
  let acknowledged = true;
  let first: NodeJS.Timeout | undefined;
  let every: NodeJS.Timeout | undefined;
  let goodbye: NodeJS.Timeout | undefined;
  let deadline = setTimeout(() => cut.abort(), HELLO_MS);
  const say = (op: number, d: unknown): Promise<void> => connection.send(JSON.stringify({ op, d })).catch(() => cut.abort());
  const heartbeat = (): void => {
    // A far end that does not answer is gone, whatever the connection says: the session is taken up on another one.
    if (!acknowledged) cut.abort();
    acknowledged = false;
    void say(1, seq);
  };
  return {
    say,
    get seq() {
      return seq;
    },
    number(s: number): void {
      if (seq === null || s > seq) seq = s;
    },
    beat(given: number): void {
      clearTimeout(deadline);
      deadline = setTimeout(() => cut.abort(), READY_MS);
      const intervalMs = Number.isFinite(given) && given >= 20 ? Math.min(given, 600_000) : 41_250;
      first = setTimeout(() => {
        heartbeat();
        every = setInterval(heartbeat, intervalMs);
      }, intervalMs * Math.random());
    },
    acknowledged(): void {
      acknowledged = true;
    },
    settled: (): void => clearTimeout(deadline),
    /** Goes, and comes back to the session. */
    leave(): void {
      goodbye ??= setTimeout(() => cut.abort(), GOODBYE_MS);
      void connection.close(STAY).catch(() => undefined);
    },
    end(): void {
      for (const timer of [first, every, goodbye, deadline]) clearTimeout(timer);
    },
  };
}

function frameOf(data: string | Uint8Array): Frame | undefined {
  try {
    const parsed: unknown = JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data));
    return typeof parsed === "object" && parsed !== null ? parsed : undefined;
  } catch {
    return undefined;
  }
}

function sessionOf(d: unknown): Session | undefined {
  const { session_id: id, resume_gateway_url: url } = (d ?? {}) as { session_id?: unknown; resume_gateway_url?: unknown };
  if (typeof id !== "string" || typeof url !== "string" || !/^wss?:/.test(url) || !URL.canParse(url)) return undefined;
  return { id, url };
}
