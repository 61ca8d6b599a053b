import { backoffMs, type PluginContext, reasonOf, sleep, type WebSocketConnection } from "@svc/sdk";
import { isRefused, refusalIn } from "./failure.ts";
import type { WebApi } from "./web-api.ts";

/** A frame that holds work. */
export interface Envelope {
  readonly envelope_id: string;
  /** `events_api`, `interactive`, `slash_commands`. */
  readonly type: string;
  readonly payload?: unknown;
}

/** Dependencies of the connection of one app. */
export interface SocketDeps {
  readonly ctx: Pick<PluginContext, "log" | "sockets">;
  readonly api: WebApi;
  readonly appToken: string;
  /** Name of the connection in the log. */
  readonly name: string;
  /** An envelope is acknowledged once, when it is stored or rightly dropped. `sideBySide`: several sockets are open, and each has a pace of its own. */
  heard(envelope: Envelope, acknowledge: () => void, sideBySide: boolean): void;
  /** The connection is open. `gap`: it was down for a while, so messages may have been missed. */
  opened(gap: boolean): void;
  /** `state` or `reason` has changed. */
  changed(): void;
}

/** The connection of one app: as many sockets as it takes to be never without one. */
export interface Socket {
  readonly state: "connecting" | "open" | "refused";
  readonly reason: string;
  start(): void;
  stop(): Promise<void>;
}

interface Frame {
  readonly type?: string;
  readonly reason?: string;
  readonly envelope_id?: string;
  readonly payload?: unknown;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 60_000;
/** An app that may not connect is asked about so often: it may have been mended. */
const REFUSED_PAUSE_MS = 60_000;
const HELLO_MS = 15_000;
/** A connection that lasted so long was of use. */
const OF_USE_MS = 10_000;
/** A socket that was told to end, and is not ended by the platform, is left after this time. */
const LAST_WORDS_MS = 60_000;
const PING_MS = 30_000;
/** A frame with a long message and its blocks. */
const FRAME_BYTES = 4 * 1_048_576;

const REFUSALS: Readonly<Record<string, string>> = {
  invalid_auth: "the platform refuses appToken: it is wrong or was revoked",
  not_authed: "the platform refuses appToken: it is wrong or was revoked",
  token_revoked: "appToken was revoked: make a new one on the app's page Basic Information",
  account_inactive: "the workspace or the app is gone",
  not_allowed_token_type: "appToken must be an app-level token (xapp-...) with the scope connections:write",
  missing_scope: "appToken lacks the scope connections:write: make a new one on the app's page Basic Information",
  socket_mode_not_enabled: "socket mode is switched off: switch it on at the app's page Socket Mode",
};
const SWITCHED_OFF = REFUSALS.socket_mode_not_enabled as string;

/** Makes the connection of one app; it connects with `start`, and again after each end. */
export function createSocket({ ctx, api, appToken, name, heard, opened, changed }: SocketDeps): Socket {
  const { log } = ctx;
  const cut = new AbortController();
  const running = new Set<Promise<void>>();
  let state: Socket["state"] = "connecting";
  let reason = "not connected yet";
  /** Sockets that said hello and have not ended. */
  let live = 0;
  let everOpen = false;
  let seeking = false;
  /** Connections in a row that ended before they were of use. */
  let fruitless = 0;
  let started = false;

  const turn = (next: Socket["state"], why = "") => {
    if (state === next && reason === why) return;
    state = next;
    reason = why;
    changed();
  };

  const begin = (work: Promise<void>): void => {
    const done = work.catch((error) => log.error({ app: name, err: error }, "a connection ended with an error")).finally(() => running.delete(done));
    running.add(done);
  };

  /** One more socket, tried until there is one. */
  async function seek(firstPauseMs = 0): Promise<void> {
    if (seeking) return;
    seeking = true;
    try {
      await sleep(firstPauseMs, cut.signal);
      for (let failures = 1; !cut.signal.aborted; failures += 1) {
        const found = await open().catch((error: unknown) => failed(error, failures));
        if (typeof found === "object") {
          begin(listen(found));
          return;
        }
        await sleep(found, cut.signal);
      }
    } finally {
      seeking = false;
    }
  }

  /** Returns the delay before the next try. */
  function failed(error: unknown, failures: number): number {
    if (cut.signal.aborted) return 0;
    const refusal = refusalIn(error);
    const forGood = REFUSALS[refusal?.error ?? ""];
    const { retryAfterMs } = error as { retryAfterMs?: number };
    if (forGood !== undefined) {
      if (reason !== forGood) log.error({ app: name }, `${name}: ${forGood}`);
      turn("refused", forGood);
      return REFUSED_PAUSE_MS;
    }
    if (live === 0) turn("connecting", reasonOf(error));
    if (failures === 1) log.warn({ app: name, reason: reasonOf(error) }, "the platform could not be connected to; trying again");
    return retryAfterMs ?? backoffMs(failures, { firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS });
  }

  async function open(): Promise<WebSocketConnection> {
    const { url = "" } = await api.call<{ url?: string }>("apps.connections.open", {}, { token: appToken, signal: cut.signal });
    // The ticket in it opens the app's messages to everybody who has it.
    if (!api.owns(url)) throw new Error("apps.connections.open named an address that is none of the platform's");
    return ctx.sockets.webSocket(url, { signal: cut.signal, pingMs: PING_MS, maxBytes: FRAME_BYTES, trustedOrigins: api.trustedOrigins });
  }

  /** Read one socket to its end. */
  async function listen(connection: WebSocketConnection): Promise<void> {
    const since = performance.now();
    let greeted = false;
    let warned = false;
    const mute = setTimeout(() => void connection.close(1000), HELLO_MS);
    let last: NodeJS.Timeout | undefined;
    const stop = () => void connection.close(1000);
    cut.signal.addEventListener("abort", stop, { once: true });
    try {
      for await (const data of connection.messages) {
        const frame = typeof data === "string" ? frameOf(data) : undefined;
        if (frame?.type === "hello" && !greeted) {
          greeted = true;
          clearTimeout(mute);
          live += 1;
          const gap = live === 1;
          turn("open");
          opened(gap);
          if (gap && everOpen) log.info({ app: name }, "connected again");
          everOpen = true;
        } else if (frame?.type === "disconnect") {
          if (frame.reason === "link_disabled") turn("refused", SWITCHED_OFF);
          warned = true;
          last ??= setTimeout(stop, LAST_WORDS_MS);
          // Before this one ends: it is still read until then.
          begin(seek(frame.reason === "too_many_websockets" || frame.reason === "link_disabled" ? REFUSED_PAUSE_MS / 10 : 0));
        } else if (typeof frame?.envelope_id === "string" && typeof frame.type === "string") {
          const { envelope_id, type, payload } = frame;
          let told = false;
          const acknowledge = () => {
            if (told) return;
            told = true;
            // One that cannot be told comes again, and is known by then.
            connection.send(JSON.stringify({ envelope_id })).catch(() => {});
          };
          heard({ envelope_id, type, payload }, acknowledge, live > 1);
        }
      }
    } finally {
      clearTimeout(mute);
      clearTimeout(last);
      cut.signal.removeEventListener("abort", stop);
      if (greeted) live -= 1;
      fruitless = greeted && performance.now() - since > OF_USE_MS ? 0 : fruitless + 1;
      if (live === 0 && state === "open") turn("connecting", "the connection ended");
      if (!cut.signal.aborted && live === 0) {
        if (!warned) log.warn({ app: name }, "the connection broke; connecting again");
        // At once for the first time: one that always ends is not asked for in a loop.
        begin(seek(greeted && fruitless <= 1 ? 0 : backoffMs(fruitless, { firstMs: FIRST_PAUSE_MS, longestMs: LONGEST_PAUSE_MS })));
      }
    }
  }

  return {
    get state() {
      return state;
    },
    get reason() {
      return reason;
    },
    start() {
      if (!started) begin(seek());
      started = true;
    },
    async stop() {
      cut.abort(new Error("stopped"));
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** Whether socket mode can be used with this token: asks for a connection and opens none. */
export async function checkAppToken(api: WebApi, appToken: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    await api.call("apps.connections.open", {}, { token: appToken, signal });
    return undefined;
  } catch (error) {
    if (isRefused(error, ...Object.keys(REFUSALS))) return REFUSALS[refusalIn(error)?.error ?? ""];
    throw error;
  }
}

function frameOf(text: string): Frame | undefined {
  try {
    const frame: unknown = JSON.parse(text);
    return typeof frame === "object" && frame !== null ? (frame as Frame) : undefined;
  } catch {
    return undefined;
  }
}
