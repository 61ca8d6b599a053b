import { createHmac, timingSafeEqual } from "node:crypto";
import { svcError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";

/**
 * Signature scheme: how a sender proves that it knows the secret. By default the whole header is the digest of the raw bytes, in hex. Variants:
 *
 *   X-Hub-Signature-256: sha256=<hex>      { header: "x-hub-signature-256", prefix: "sha256=" }            SIGNATURES.hub
 *   Stripe-Signature: t=<s>,v1=<hex>       { header: "stripe-signature", field: "v1", time: { field: "t" } }
 *   X-Acme-Signature: v0=<hex>             { header: "x-acme-signature", prefix: "v0=", time: { header: "x-acme-request-timestamp" },
 *                                            content: "v0:{time}:{body}" }
 *   X-Gitlab-Token: <secret>               { token: "x-gitlab-token" }
 *   webhook-signature: v1,<base64> ...     SIGNATURES.standard, with webhook-id and webhook-timestamp
 */
export interface SignatureScheme {
  /** The header with the digest, case-insensitive. Omitted if the sender has a `token` only. */
  readonly header?: string;
  /** Default `SHA-256`. */
  readonly algorithm?: "SHA-1" | "SHA-256" | "SHA-512";
  /** Default `hex`. */
  readonly encoding?: "hex" | "base64";
  /** Prefix of the digest. */
  readonly prefix?: string;
  /** The header is a list `name=value, ...`, and this names the digest; of several one must be right, as while a secret is changed. */
  readonly field?: string;
  /** Separators between the parts of that list, and between name and value. Default `","` and `"="`. */
  readonly separators?: readonly [parts: string, value: string];
  /** Position of the time of signing, in Unix seconds: in a header of its own, or in the list. Without it a captured request can be replayed. */
  readonly time?: { readonly header: string } | { readonly field: string };
  /** Tolerance between that time and now, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
  /** Header with the message id, for `{id}` in the content. The route must deduplicate by it where a message may not count twice. */
  readonly id?: string;
  /** Template of the signed content, with `{id}`, `{time}` and `{body}`, the raw bytes. Default `{time}.{body}` where there is a time, else `{body}`. */
  readonly content?: string;
  /** A secret is base64, after this prefix if it has one. */
  readonly keyPrefix?: string;
  /** A header that holds the secret itself, accepted in place of a signature. */
  readonly token?: string;
}

/** Schemes that many senders share: `requireSignature(request, secret, [SIGNATURES.hub, SIGNATURES.standard])`. */
export const SIGNATURES = {
  /** `X-Forge-Signature-256: sha256=<hex>`, or `X-Forge-Token` equal to the secret. */
  forge: { header: "x-forge-signature-256", prefix: "sha256=", token: "x-forge-token" },
  /** `X-Hub-Signature-256: sha256=<hex>`. */
  hub: { header: "x-hub-signature-256", prefix: "sha256=" },
  /** Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature`, with a secret `whsec_<base64>`. */
  standard: {
    header: "webhook-signature",
    encoding: "base64",
    field: "v1",
    separators: [" ", ","],
    time: { header: "webhook-timestamp" },
    id: "webhook-id",
    content: "{id}.{time}.{body}",
    keyPrefix: "whsec_",
  },
} as const satisfies Readonly<Record<string, SignatureScheme>>;

/** Of several secrets, the sender needs to know only one, such as during a rotation. Missing and empty ones never match. */
export type SignatureSecret = string | undefined | readonly (string | undefined)[];

/** One or several ways of signing that are accepted. */
export type SignatureSchemes = SignatureScheme | readonly SignatureScheme[];

const TOLERANCE_SECONDS = 300;
const THREADED_BYTES = 1_048_576;
const DIGEST_BYTES = { "SHA-1": 20, "SHA-256": 32, "SHA-512": 64 } as const;

/** A signature as its headers give it. */
interface Claim {
  readonly scheme: SignatureScheme;
  /** Digests of the right length. */
  readonly digests: readonly Uint8Array[];
  readonly id: string;
  readonly time: string | undefined;
}

/**
 * For routes guarded as `signed`: the sender must prove that it knows `secret`, by an HMAC over the raw bytes, so the route needs `raw: true`. By
 * default as `SIGNATURES.forge` says. With several schemes the sender may use any of them; each one whose header is present must be valid, so
 * contradicting ones are refused. Throws `SVC_REQUEST_UNSIGNED` (401) otherwise, and for everyone when the secret is missing or empty;
 * `SVC_REQUEST_STALE` (401) for a signature of another time. Compares in constant time.
 */
export async function requireSignature(
  request: Pick<HttpRequest, "raw" | "headers">,
  secret: SignatureSecret,
  schemes: SignatureSchemes = SIGNATURES.forge,
  now: () => number = Date.now,
): Promise<void> {
  const secrets = secretsOf(secret);
  const claims = await claimsOf(request, secrets, schemes);
  for (const claim of claims) {
    if (request.raw === undefined || !(await isRight(claim, secrets, request.raw))) throw unsigned();
  }
  requireFresh(claims, now);
}

/**
 * Checks that need only the headers, for `before` of such a route: a sender without a signature, with an impossible one, one of another time or a
 * wrong token is refused as in `requireSignature`, without reading the body. `requireSignature` must follow in `handle`.
 */
export async function requireSignatureHeader(
  request: Pick<HttpRequest, "headers">,
  secret: SignatureSecret,
  schemes: SignatureSchemes = SIGNATURES.forge,
  now: () => number = Date.now,
): Promise<void> {
  requireFresh(await claimsOf(request, secretsOf(secret), schemes), now);
}

const unsigned = () => svcError("SVC_REQUEST_UNSIGNED", "The request is not signed with the secret of this webhook.", { status: 401 });

const secretsOf = (secret: SignatureSecret): readonly string[] =>
  (typeof secret === "string" ? [secret] : (secret ?? [])).filter((one): one is string => one !== undefined && one !== "");

/** Returns the signatures that remain to be compared with the body. Throws if the headers alone show an error. */
async function claimsOf(request: Pick<HttpRequest, "headers">, secrets: readonly string[], schemes: SignatureSchemes): Promise<readonly Claim[]> {
  if (secrets.length === 0) throw unsigned();
  const claims: Claim[] = [];
  let tokens = 0;
  for (const scheme of "length" in schemes ? schemes : [schemes]) {
    const token = scheme.token === undefined ? undefined : headerOf(request, scheme.token);
    if (token !== undefined) {
      if (!(await isOneOf(token, secrets))) throw unsigned();
      tokens += 1;
    }
    const given = scheme.header === undefined ? undefined : headerOf(request, scheme.header);
    if (given !== undefined) claims.push(claimOf(request, scheme, given));
  }
  if (claims.length + tokens === 0) throw unsigned();
  return claims;
}

function claimOf(request: Pick<HttpRequest, "headers">, scheme: SignatureScheme, given: string): Claim {
  const { field, prefix = "", algorithm = "SHA-256", encoding = "hex" } = scheme;
  const texts = field === undefined ? [given] : fieldsOf(given, field, scheme);
  const digests = texts
    .flatMap((text) => (text.startsWith(prefix) ? [decode(text.slice(prefix.length), encoding)] : []))
    .filter((digest) => digest?.length === DIGEST_BYTES[algorithm]) as Uint8Array[];
  const time = timeOf(request, scheme, given);
  const id = scheme.id === undefined ? "" : headerOf(request, scheme.id);
  if (digests.length === 0 || id === undefined || (scheme.time !== undefined && !/^\d{1,15}$/.test(time ?? ""))) throw unsigned();
  return { scheme, digests, id, time };
}

function headerOf({ headers }: Pick<HttpRequest, "headers">, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : undefined;
}

/** The values of a name in `name=value, name=value`. */
function fieldsOf(list: string, name: string, { separators: [between, within] = [",", "="] }: SignatureScheme): string[] {
  const start = `${name}${within}`;
  return list.split(between).flatMap((part) => (part.trim().startsWith(start) ? [part.trim().slice(start.length)] : []));
}

function timeOf(request: Pick<HttpRequest, "headers">, scheme: SignatureScheme, given: string): string | undefined {
  const { time } = scheme;
  if (time === undefined) return undefined;
  return "header" in time ? headerOf(request, time.header) : fieldsOf(given, time.field, scheme)[0];
}

/** Each secret costs one pass over the body, however many digests were sent. */
async function isRight({ scheme, digests, id, time }: Claim, secrets: readonly string[], raw: Uint8Array): Promise<boolean> {
  const content = contentOf(scheme, id, time ?? "", raw);
  let found = false;
  for (const secret of secrets) {
    const bytes = keyOf(secret, scheme);
    if (bytes === undefined) continue;
    const expected = await hmacOf(scheme.algorithm ?? "SHA-256", bytes, content);
    for (const digest of digests) if (sameBytes(digest, expected)) found = true;
  }
  return found;
}

/** For a usual body the round trip to another thread costs several times the digest itself; a large one would block the event loop. */
async function hmacOf(hash: keyof typeof DIGEST_BYTES, bytes: Uint8Array<ArrayBuffer>, content: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (content.length <= THREADED_BYTES) return createHmac(hash, bytes).update(content).digest();
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash }, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, content));
}

function requireFresh(claims: readonly Claim[], now: () => number): void {
  for (const { scheme, time } of claims) {
    const { toleranceSeconds = TOLERANCE_SECONDS } = scheme;
    if (time !== undefined && Math.abs(now() / 1000 - Number(time)) > toleranceSeconds)
      throw svcError("SVC_REQUEST_STALE", `The request was signed more than ${toleranceSeconds} s from now; check both clocks.`, { status: 401 });
  }
}

/** Undefined for a secret that cannot be a key of the scheme. */
function keyOf(secret: string, { keyPrefix }: SignatureScheme): Uint8Array<ArrayBuffer> | undefined {
  if (keyPrefix === undefined) return encode(secret);
  return decode(secret.startsWith(keyPrefix) ? secret.slice(keyPrefix.length) : secret, "base64");
}

function contentOf({ time: timed, content = timed === undefined ? "{body}" : "{time}.{body}" }: SignatureScheme, id: string, time: string, raw: Uint8Array) {
  if (content === "{body}") return raw as Uint8Array<ArrayBuffer>;
  // Substitute once: placeholders inside the sender's values are not expanded.
  const fill = (text: string) => encode(text.replace(/\{(id|time)\}/g, (_, name) => (name === "id" ? id : time)));
  const [before = "", after = ""] = content.split("{body}");
  const [head, tail] = [fill(before), fill(after)];
  const bytes = new Uint8Array(head.length + raw.length + tail.length);
  bytes.set(head);
  bytes.set(raw, head.length);
  bytes.set(tail, head.length + raw.length);
  return bytes;
}

function decode(text: string, encoding: "hex" | "base64"): Uint8Array<ArrayBuffer> | undefined {
  if (encoding === "base64") {
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text) || text.replace(/=+$/, "").length % 4 === 1) return undefined;
    return new Uint8Array(Buffer.from(text, "base64"));
  }
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return undefined;
  return new Uint8Array(Buffer.from(text, "hex"));
}

const encode = (text: string) => new TextEncoder().encode(text);

/**
 * Requires a header that a page of another origin cannot send without a CORS preflight: its value must be exactly `value`. Throws
 * `SVC_REQUEST_UNMARKED` (403).
 */
export function requireMarker(request: Pick<HttpRequest, "headers">, name: string, value: string): void {
  if (request.headers[name.toLowerCase()] === value) return;
  throw svcError("SVC_REQUEST_UNMARKED", `This request needs the header ${name}: ${value}.`, { status: 403 });
}

async function isOneOf(given: string, secrets: readonly string[]): Promise<boolean> {
  const digest = async (text: string) => new Uint8Array(await crypto.subtle.digest("SHA-256", encode(text)));
  const one = await digest(given);
  let found = false;
  for (const secret of secrets) if (sameBytes(one, await digest(secret))) found = true;
  return found;
}

/** Constant time, wherever they differ; the length of a digest is not secret. */
const sameBytes = (left: Uint8Array, right: Uint8Array): boolean => left.length === right.length && timingSafeEqual(left, right);
