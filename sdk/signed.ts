import { svcError } from "./errors.ts";
import type { HttpRequest } from "./http.ts";

/**
 * For routes guarded as `signed`: the sender must prove that it knows `secret`, by `X-Forge-Signature-256: sha256=<hex>` (HMAC-SHA256 of
 * the raw bytes, so the route needs `raw: true`) or by `X-Forge-Token` equal to it. Throws `SVC_REQUEST_UNSIGNED` (401) otherwise, and
 * for everyone when the secret is missing or empty. Compares digests, in constant time.
 */
export async function requireSignature(request: Pick<HttpRequest, "raw" | "headers">, secret: string | undefined): Promise<void> {
  const refuse = () => svcError("SVC_REQUEST_UNSIGNED", "The request is not signed with the secret of this webhook.", { status: 401 });
  if (secret === undefined || secret === "") throw refuse();
  const signature = request.headers["x-forge-signature-256"];
  const token = request.headers["x-forge-token"];
  if (typeof signature === "string" && request.raw !== undefined) {
    const hex = /^sha256=([0-9a-f]{64})$/i.exec(signature)?.[1];
    if (hex === undefined) throw refuse();
    const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    const claimed = Uint8Array.from({ length: 32 }, (_, at) => Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16));
    if (await crypto.subtle.verify("HMAC", key, claimed, new Uint8Array(request.raw))) return;
    throw refuse();
  }
  if (typeof token === "string" && (await same(token, secret))) return;
  throw refuse();
}

/** A header that a page of another origin cannot send without being asked first: its value must be exactly `value`. Throws `SVC_REQUEST_UNMARKED` (403). */
export function requireMarker(request: Pick<HttpRequest, "headers">, name: string, value: string): void {
  if (request.headers[name.toLowerCase()] === value) return;
  throw svcError("SVC_REQUEST_UNMARKED", `This request needs the header ${name}: ${value}.`, { status: 403 });
}

async function same(left: string, right: string): Promise<boolean> {
  const digest = async (text: string) => new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  const [one, other] = await Promise.all([digest(left), digest(right)]);
  let different = 0;
  for (const [at, byte] of one.entries()) different |= byte ^ (other[at] as number);
  return different === 0;
}
