/** One request of an exchange. Header names are lower-case. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | undefined;
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that another origin may see. Any other, under whatever name, may hold a key for the first one. */
const HARMLESS = new Set(["accept", "accept-encoding", "accept-language", "content-length", "content-type", "user-agent"]);

/** The address a response redirects to; undefined for any other response. Throws a `TypeError` for a location that cannot be parsed. */
export function redirectTarget(status: number, location: string | undefined, from: URL): URL | undefined {
  return REDIRECTS.has(status) && location !== undefined ? new URL(location, from) : undefined;
}

/**
 * The request that follows a redirect, as in the fetch standard: 303, and 301 or 302 after a POST, go on as GET without body.
 * Stricter than that: only harmless headers cross to another origin.
 */
export function nextHop({ url, method, headers, body }: Hop, status: number, target: URL): Hop {
  const asGet = (status === 303 && method !== "HEAD") || ((status === 301 || status === 302) && method === "POST");
  const kept = Object.entries(headers).filter(([name]) => !(asGet && name.startsWith("content-")) && (target.origin === url.origin || HARMLESS.has(name)));
  return { url: target, method: asGet ? "GET" : method, headers: Object.fromEntries(kept), body: asGet ? undefined : body };
}
