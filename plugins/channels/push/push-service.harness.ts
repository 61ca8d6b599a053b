import { createECDH, createPublicKey, type ECDH, randomBytes, verify } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { decrypt } from "http_ece";
import type { Subscription } from "./device.ts";

/** A notice as the browser has decrypted it. */
export interface Shown {
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly more?: true;
}

/** A browser: it knows its keys and reads what its push service hands it. */
export interface Browser {
  readonly subscription: Subscription;
  /** By the notice's id, as a browser replaces what has the same tag. */
  readonly shown: Map<string, Shown>;
  /** Bodies in bytes, as they came. */
  readonly sizes: number[];
  /** How the next requests are answered. */
  readonly faults: (number | "cut" | "retry-date")[];
  gone: boolean;
  readonly ecdh: ECDH;
  readonly auth: Buffer;
}

const MOST_BODY = 4_096;

/**
 * A push service as RFC 8030 describes it, strict about RFC 8188, 8291 and 8292: a wrong proof is 403, a body over 4,096 bytes 413. What it
 * takes is decrypted by a foreign library with the browser's own key.
 */
export async function startPushService(options: { key?: () => string; whole?: (id: string) => Promise<string> } = {}) {
  const browsers = new Map<string, Browser>();
  const sockets = new Set<Socket>();
  const state = { writes: 0, hanging: false, headers: [] as IncomingMessage["headers"][], limit: MOST_BODY };

  const server = createServer(async (request, response) => {
    state.writes += 1;
    state.headers.push(request.headers);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (state.hanging) return;
    const body = Buffer.concat(chunks);
    const browser = browsers.get(request.url ?? "");
    const fault = browser?.faults.shift();
    if (fault === 429) return response.writeHead(429, { "retry-after": "7" }).end("slow down");
    if (fault === "retry-date") return response.writeHead(503, { "retry-after": new Date(Date.now() + 60_000).toUTCString() }).end();
    if (typeof fault === "number") return response.writeHead(fault).end("as told");
    if (browser === undefined || browser.gone) return response.writeHead(410).end();
    const wrong = wrongIn(request, origin(), options.key?.());
    if (wrong !== undefined) return response.writeHead(wrong.status).end(wrong.reason);
    if (body.length > state.limit) return response.writeHead(413).end();
    const plain = decrypt(body, { version: "aes128gcm", privateKey: browser.ecdh, authSecret: browser.auth.toString("base64url") });
    const notice = JSON.parse(plain.toString()) as Shown;
    const text = notice.more === true && options.whole !== undefined ? await options.whole(notice.id) : notice.text;
    browser.sizes.push(body.length);
    browser.shown.set(notice.id, { ...notice, text });
    if (fault === "cut") return request.socket.destroy();
    response.writeHead(201, { location: `/message/${randomBytes(4).toString("hex")}` }).end();
  });
  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** A browser that has just subscribed. */
  function browse(): Browser {
    const ecdh = createECDH("prime256v1");
    const auth = randomBytes(16);
    const path = `/push/${randomBytes(12).toString("hex")}`;
    const keys = { p256dh: ecdh.generateKeys().toString("base64url"), auth: auth.toString("base64url") };
    const browser: Browser = { subscription: { endpoint: origin() + path, keys }, shown: new Map(), sizes: [], faults: [], gone: false, ecdh, auth };
    browsers.set(path, browser);
    return browser;
  }

  const close = () =>
    new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy();
      server.close(() => resolve());
    });
  return { origin: origin(), state, browse, close };
}

/** What is wrong with a request, as a push service says it. */
function wrongIn({ method, headers }: IncomingMessage, origin: string, key: string | undefined): { status: number; reason: string } | undefined {
  if (method !== "POST") return { status: 405, reason: "POST only" };
  if (!/^\d+$/.test(headers["ttl"]?.toString() ?? "")) return { status: 400, reason: "no ttl" };
  if (headers["content-encoding"] !== "aes128gcm") return { status: 415, reason: "unknown encoding" };
  if (!["very-low", "low", "normal", "high"].includes(headers["urgency"]?.toString() ?? "")) return { status: 400, reason: "unknown urgency" };
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(headers["topic"]?.toString() ?? "")) return { status: 400, reason: "bad topic" };
  const [, token = "", given = ""] = /^vapid t=([^,\s]+), ?k=([A-Za-z0-9_-]+)$/.exec(headers.authorization ?? "") ?? [];
  const [head = "", claims = "", signature = ""] = token.split(".");
  if (key !== undefined && given !== key) return { status: 403, reason: "the subscription has another key" };
  const point = Buffer.from(given, "base64url");
  if (point.length !== 65) return { status: 401, reason: "no key" };
  const jwk = { kty: "EC", crv: "P-256", x: point.subarray(1, 33).toString("base64url"), y: point.subarray(33).toString("base64url") };
  const publicKey = createPublicKey({ format: "jwk", key: jwk });
  const good = verify("sha256", Buffer.from(`${head}.${claims}`), { key: publicKey, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims || "e30", "base64url").toString()) as { aud?: string; exp?: number; sub?: string };
  const left = (exp ?? 0) - Date.now() / 1_000;
  if (!good || aud !== origin || left <= 0 || left > 86_400 || !/^(mailto:|https:)/.test(sub ?? "")) return { status: 403, reason: "BadJwtToken" };
  return undefined;
}
