import { svcError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";

/**
 * How a sender signs. By default the whole header is the digest of the raw bytes, in hex. The kinds there are:
 *
 *   X-Hub-Signature-256: sha256=<hex>      { header: "x-hub-signature-256", prefix: "sha256=" }
 *   Stripe-Signature: t=<s>,v1=<hex>       { header: "stripe-signature", field: "v1", time: { field: "t" } }
 *   X-Acme-Signature: v0=<hex>             { header: "x-acme-signature", prefix: "v0=", time: { header: "x-acme-request-timestamp" },
 *                                            content: "v0:{time}:{body}" }
 */
export interface SignatureScheme {
  /** The header with the digest, in any case. */
  readonly header: string;
  /** Default `SHA-256`. */
  readonly algorithm?: "SHA-1" | "SHA-256" | "SHA-512";
  /** Default `hex`. */
  readonly encoding?: "hex" | "base64";
  /** What stands before the digest. */
  readonly prefix?: string;
  /** The header is a list `name=value, ...`, and this names the digest; of several one must be right, as while a secret is changed. */
  readonly field?: string;
  /** Where the time of signing stands, in Unix seconds: in a header of its own, or in the list. Without it a captured request can be replayed. */
  readonly time?: { readonly header: string } | { readonly field: string };
  /** How far that time may be from now, in seconds. Default 300. */
  readonly toleranceSeconds?: number;
  /** What is signed, with `{time}` and `{body}`, the raw bytes. Default `{time}.{body}` where there is a time, else `{body}`. */
  readonly content?: string;
  /** A header that holds the secret itself, accepted in place of a signature. */
  readonly token?: string;
}

const FORGE: SignatureScheme = { header: "x-forge-signature-256", prefix: "sha256=", token: "x-forge-token" };
const TOLERANCE_SECONDS = 300;

/**
 * For routes guarded as `signed`: the sender must prove that it knows `secret`, by an HMAC over the raw bytes, so the route needs
 * `raw: true`. By default as `X-Forge-Signature-256: sha256=<hex>`, or by `X-Forge-Token` equal to the secret. Throws
 * `SVC_REQUEST_UNSIGNED` (401) otherwise, and for everyone when the secret is missing or empty; `SVC_REQUEST_STALE` (401) for a
 * signature of another time. Compares in constant time.
 */
export async function requireSignature(
  request: Pick<HttpRequest, "raw" | "headers">,
  secret: string | undefined,
  scheme: SignatureScheme = FORGE,
  now: () => number = Date.now,
): Promise<void> {
  const refuse = () => svcError("SVC_REQUEST_UNSIGNED", "The request is not signed with the secret of this webhook.", { status: 401 });
  if (secret === undefined || secret === "") throw refuse();
  const { raw } = request;
  const given = headerOf(request, scheme.header);
  const token = scheme.token === undefined ? undefined : headerOf(request, scheme.token);
  if (given === undefined || raw === undefined) {
    if (token !== undefined && (await same(token, secret))) return;
    throw refuse();
  }
  const time = timeOf(request, scheme, given);
  if (scheme.time !== undefined && !/^\d{1,15}$/.test(time ?? "")) throw refuse();
  const content = contentOf(scheme, time ?? "", raw);
  const key = await crypto.subtle.importKey("raw", encode(secret), { name: "HMAC", hash: scheme.algorithm ?? "SHA-256" }, false, ["verify"]);
  let isRight = false;
  for (const text of digestsOf(scheme, given)) {
    const digest = decode(text, scheme.encoding ?? "hex");
    if (digest !== undefined && (await crypto.subtle.verify("HMAC", key, digest, content))) isRight = true;
  }
  if (!isRight) throw refuse();
  const { toleranceSeconds = TOLERANCE_SECONDS } = scheme;
  if (time !== undefined && Math.abs(now() / 1000 - Number(time)) > toleranceSeconds)
    throw svcError("SVC_REQUEST_STALE", `The request was signed more than ${toleranceSeconds} s from now; check both clocks.`, { status: 401 });
}

function headerOf({ headers }: Pick<HttpRequest, "headers">, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" ? value : undefined;
}

/** The values of a name in `name=value, name=value`. */
const fieldsOf = (list: string, name: string): string[] =>
  list.split(",").flatMap((part) => (part.trim().startsWith(`${name}=`) ? [part.trim().slice(name.length + 1)] : []));

function timeOf(request: Pick<HttpRequest, "headers">, { time }: SignatureScheme, given: string): string | undefined {
  if (time === undefined) return undefined;
  return "header" in time ? headerOf(request, time.header) : fieldsOf(given, time.field)[0];
}

function digestsOf({ field, prefix = "" }: SignatureScheme, given: string): string[] {
  const texts = field === undefined ? [given] : fieldsOf(given, field);
  return texts.flatMap((text) => (text.startsWith(prefix) ? [text.slice(prefix.length)] : []));
}

function contentOf({ time: timed, content = timed === undefined ? "{body}" : "{time}.{body}" }: SignatureScheme, time: string, raw: Uint8Array) {
  const [before = "", after = ""] = content.replaceAll("{time}", time).split("{body}");
  const [head, tail] = [encode(before), encode(after)];
  const bytes = new Uint8Array(head.length + raw.length + tail.length);
  bytes.set(head);
  bytes.set(raw, head.length);
  bytes.set(tail, head.length + raw.length);
  return bytes;
}

function decode(text: string, encoding: "hex" | "base64"): Uint8Array<ArrayBuffer> | undefined {
  if (encoding === "base64") return /^[A-Za-z0-9+/]+={0,2}$/.test(text) ? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)) : undefined;
  if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

const encode = (text: string) => new TextEncoder().encode(text);

/** A header that a page of another origin cannot send without being asked first: its value must be exactly `value`. Throws `SVC_REQUEST_UNMARKED` (403). */
export function requireMarker(request: Pick<HttpRequest, "headers">, name: string, value: string): void {
  if (request.headers[name.toLowerCase()] === value) return;
  throw svcError("SVC_REQUEST_UNMARKED", `This request needs the header ${name}: ${value}.`, { status: 403 });
}

async function same(left: string, right: string): Promise<boolean> {
  const digest = async (text: string) => new Uint8Array(await crypto.subtle.digest("SHA-256", encode(text)));
  const [one, other] = await Promise.all([digest(left), digest(right)]);
  let different = 0;
  for (const [at, byte] of one.entries()) different |= byte ^ (other[at] as number);
  return different === 0;
}
