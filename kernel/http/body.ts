import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import secureJson from "secure-json-parse";
import { fail } from "../base/errors.ts";

const MAX_DEPTH = 64;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Reads the bytes of a request's body. Throws 413 as soon as the size is known to exceed `limit`: at once by the declared length, else after reading
 * that many. Rejects with `SVC_HTTP_GONE` when the client disconnects, and with the error of `arrived`, which receives the length of each chunk
 * before it is buffered.
 */
export function readBody(request: IncomingMessage, limit: number, arrived: (length: number) => void = () => {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (Number(request.headers["content-length"] ?? 0) > limit) return reject(fail("SVC_HTTP_BODY_SIZE", { limit }));
    const chunks: Buffer[] = [];
    let size = 0;
    const settle = (error?: unknown) => {
      request.off("data", take).off("end", settle).off("error", gone).off("close", gone);
      if (error !== undefined) reject(error);
      else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size));
    };
    const take = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        request.pause();
        return settle(fail("SVC_HTTP_BODY_SIZE", { limit }));
      }
      try {
        arrived(chunk.length);
      } catch (error) {
        request.pause();
        return settle(error);
      }
      chunks.push(chunk);
    };
    const gone = () => settle(fail("SVC_HTTP_GONE"));
    request.on("data", take).on("end", settle).on("error", gone).on("close", gone);
  });
}

/** Bodies that are larger than usual, which share so many bytes until their requests are answered. */
export interface LargeBodies {
  /** As `readBody`; throws 503 if too many bytes are buffered already. The caller calls `release` once, when nothing references the body any more. */
  read(request: IncomingMessage, limit: number): Promise<{ readonly bytes: Buffer; release(): void }>;
}

/**
 * Creates the shared budget for large bodies: `total` bytes over all requests in progress. Bytes received count, not the declared length: slow
 * senders of large bodies block no one else.
 */
export function createLargeBodies(total: number): LargeBodies {
  let taken = 0;
  return {
    async read(request, limit) {
      const promised = Number(request.headers["content-length"] ?? 0);
      if (promised <= limit && taken + promised > total) throw fail("SVC_HTTP_BODIES");
      let own = 0;
      const release = () => {
        taken -= own;
        own = 0;
      };
      try {
        const bytes = await readBody(request, limit, (length) => {
          if (taken + length > total) throw fail("SVC_HTTP_BODIES");
          taken += length;
          own += length;
        });
        return { bytes, release };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

/** Refuses a body that is not JSON by its headers. Compressed bodies are refused too: no code here decompresses them. */
export function checkJsonType({ headers }: IncomingMessage): void {
  const type = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?([\w-]+)"?\s*)?$/i.exec(headers["content-type"] ?? "");
  if (type === null) throw fail("SVC_HTTP_TYPE", { found: headers["content-type"] === undefined ? "no content type" : "another content type" });
  if (type[1] !== undefined && !/^utf-?8$/i.test(type[1])) throw fail("SVC_HTTP_TYPE", { found: "another charset" });
  if ((headers["content-encoding"] ?? "identity") !== "identity") throw fail("SVC_HTTP_TYPE", { found: "a compressed body" });
}

/**
 * Parses bytes to a value. Throws 400 unless they are UTF-8 and JSON without `__proto__` or `constructor.prototype` as a key, nested at most 64 deep;
 * the depth is counted before parsing.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw fail("SVC_HTTP_BODY_JSON");
  if (isTooDeep(bytes)) throw fail("SVC_HTTP_BODY_DEPTH", { limit: MAX_DEPTH });
  try {
    return secureJson.parse(bytes.toString("utf8"), undefined, { protoAction: "error", constructorAction: "error" });
  } catch {
    throw fail("SVC_HTTP_BODY_JSON");
  }
}

function isTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= MAX_DEPTH) return false;
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      at = closingQuote(bytes, at + 1);
      if (at === -1) return false;
    } else if (byte === 0x5b || byte === 0x7b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return false;
}

/** Where the string that starts at `from` ends; -1 when it does not. */
function closingQuote(bytes: Buffer, from: number): number {
  for (let end = bytes.indexOf(QUOTE, from); end !== -1; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (end - 1 - slashes >= from && bytes[end - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
