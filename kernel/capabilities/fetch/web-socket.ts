import type { Duplex } from "node:stream";
import type { Sockets, WebSocketConnection, WebSocketInit } from "@svc/sdk";
import type WebSocket from "ws";
import { fail } from "../../base/errors.ts";
import { bare } from "./hosts.ts";

const TIMEOUT_MS = 15_000;
const MAX_BYTES = 1_048_576;
const PING_MS = 30_000;

/** Opens a WebSocket over a connection that `connect` has guarded. `ws` is loaded with the first one: Node 20 has no client of its own. */
export async function openWebSocket(connect: Sockets["connect"], address: string, init: WebSocketInit = {}): Promise<WebSocketConnection> {
  const url = addressOf(address);
  const { protocols = [], headers = {}, timeoutMs = TIMEOUT_MS, maxBytes = MAX_BYTES, pingMs = PING_MS, signal } = init;
  const tls = url.protocol === "wss:";
  const port = Number(url.port) || (tls ? 443 : 80);
  const trusted = (init.trustedOrigins ?? []).some((origin) => URL.canParse(origin) && new URL(origin).origin === url.origin);
  const host = bare(url.hostname);
  const { WebSocket: Client } = await import("ws");
  const socket = await connect({
    host,
    port,
    tls,
    timeoutMs,
    ...(signal === undefined ? {} : { signal }),
    ...(trusted ? { trustedHosts: [`${url.hostname}:${port}`] } : {}),
  });
  // From here on the WebSocket reports how the connection ended.
  socket.on("error", () => undefined);
  // A request over a connection that has ended would never be refused.
  if (socket.destroyed) throw fail("SVC_WEBSOCKET_FAILED", { host: url.host, reason: "it hung up" });
  let client: WebSocket;
  try {
    client = new Client(url, [...protocols], {
      headers: { ...headers },
      createConnection: () => socket as never,
      // A bomb needs a coding; without one nothing is decoded.
      perMessageDeflate: false,
      maxPayload: maxBytes,
    });
  } catch (error) {
    // A header or protocol that cannot be sent: nobody has taken the connection over.
    socket.destroy();
    throw error;
  }
  await agreed(client, socket, url.host, timeoutMs);
  return connectionOf(client, pingMs);
}

function addressOf(address: string): URL {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^wss?:$/.test(url.protocol)) throw fail("SVC_WEBSOCKET_URL", { reason: "it must begin with ws: or wss:" });
  if (url.username !== "" || url.password !== "") throw fail("SVC_WEBSOCKET_URL", { reason: "it holds credentials; send a header instead" });
  url.hash = "";
  return url;
}

function agreed(client: WebSocket, socket: Duplex, host: string, timeoutMs: number): Promise<void> {
  return new Promise((done, refuse) => {
    const timer = setTimeout(() => failed(`it did not agree within ${timeoutMs} ms`), timeoutMs);
    const failed = (reason: string) => {
      clearTimeout(timer);
      client.on("error", () => undefined);
      client.terminate();
      socket.destroy();
      refuse(fail("SVC_WEBSOCKET_FAILED", { host, reason }));
    };
    client.once("open", done);
    client.once("unexpected-response", (_request, response) => failed(`it answered with status ${response.statusCode}`));
    client.once("error", (error: NodeJS.ErrnoException) => failed(error.code ?? error.message));
    const hungUp = () => failed("it hung up");
    client.once("close", hungUp);
    socket.once("close", hungUp);
    client.once("open", () => {
      clearTimeout(timer);
      socket.off("close", hungUp);
      // Paused until a listener is attached, so that no message is lost.
      client.pause();
    });
  });
}

function connectionOf(client: WebSocket, pingMs: number): WebSocketConnection {
  const waiting: (string | Uint8Array)[] = [];
  let wake = () => {};
  let ended = false;
  client.on("error", () => undefined);
  client.on("message", (data: Buffer, binary: boolean) => {
    waiting.push(binary ? new Uint8Array(data) : data.toString());
    client.pause();
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    client.once("close", (code: number, reason: Buffer) => {
      ended = true;
      clearInterval(asking);
      resolve({ code, reason: reason.toString() });
      wake();
    });
  });
  let open = false;
  const asking = pingMs > 0 ? setInterval(ask, pingMs) : undefined;
  client.on("pong", () => {
    open = false;
  });
  function ask(): void {
    // While its reader holds it back, its answer is not read either.
    if (client.isPaused) return;
    if (open) client.terminate();
    else client.ping();
    open = true;
  }

  async function* messages(): AsyncGenerator<string | Uint8Array> {
    try {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) yield next;
        else if (ended) return;
        else {
          const news = new Promise<void>((resolve) => (wake = resolve));
          client.resume();
          await news;
        }
      }
    } finally {
      client.resume();
      client.terminate();
    }
  }

  return {
    protocol: client.protocol,
    messages: messages(),
    closed,
    send: (data) => new Promise((done, refuse) => client.send(data, (error) => (error ? refuse(error) : done()))),
    async close(code = 1000, reason = "") {
      // A close frame is only seen by a reader.
      client.resume();
      client.close(code, reason);
      await closed;
    },
  };
}
