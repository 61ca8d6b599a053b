import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { FetchAnswer, FetchHead, FetchStream } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { decoded } from "./decoded.ts";
import type { Exchange } from "./exchange.ts";
import type { Hop } from "./redirect.ts";

/** Answer of a host, after redirects. */
export interface Reached {
  readonly hop: Hop;
  readonly response: IncomingMessage;
}

/** The whole body, or its first `maxBytes`. */
export async function wholeAnswer(reached: Reached, maxBytes: number): Promise<FetchAnswer> {
  const { body, truncated } = await readAtMost(await bodyOf(reached), maxBytes);
  return {
    ...headOf(reached),
    body,
    truncated,
    // A decoder that expects more keeps a character cut in half to itself.
    text: () => new TextDecoder().decode(body, { stream: truncated }),
  };
}

/** The body as it comes, for as long as its reader wants it. */
export async function streamedAnswer(
  reached: Reached,
  exchange: Exchange,
  { host, idleMs, maxBytes }: { readonly host: string; readonly idleMs: number; readonly maxBytes: number },
): Promise<FetchStream> {
  const source = await bodyOf(reached);
  const wait = () => exchange.limit(idleMs, () => fail("SVC_FETCH_IDLE", { host, ms: idleMs }));
  // After an abort there may be no reader.
  source.on("error", () => undefined);
  const drop = () => {
    source.destroy();
    reached.response.destroy();
    exchange.end();
  };
  exchange.signal.addEventListener("abort", drop, { once: true });

  async function* pieces(): AsyncGenerator<Uint8Array> {
    let total = 0;
    try {
      wait();
      for await (const piece of source as AsyncIterable<Buffer>) {
        exchange.unlimited();
        total += piece.length;
        if (total > maxBytes) throw fail("SVC_FETCH_TOO_LARGE", { host, bytes: maxBytes });
        yield piece;
        // Only the far end's time counts: a slow reader may hold the connection as long as it likes.
        wait();
      }
      exchange.requireWanted();
    } catch (error) {
      throw exchange.explain(error);
    } finally {
      drop();
    }
  }
  // Also where the body is never begun.
  wait();
  return { ...headOf(reached), body: pieces() };
}

async function bodyOf({ hop: { method }, response }: Reached): Promise<Readable> {
  const { statusCode: status } = response;
  return method === "HEAD" || status === 204 || status === 304 ? response : decoded(response);
}

function headOf({ hop: { url }, response }: Reached): FetchHead {
  const { statusCode: status = 0, statusMessage: statusText = "", headers } = response;
  url.hash = "";
  return {
    status,
    statusText,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : (value ?? "")])),
    url: url.href,
  };
}

/** Stops reading one byte after the limit. */
async function readAtMost(source: AsyncIterable<Buffer>, maxBytes: number): Promise<{ body: Uint8Array; truncated: boolean }> {
  const chunks: Buffer[] = [];
  let total = 0;
  for await (const chunk of source) {
    chunks.push(chunk);
    total += chunk.length;
    if (total > maxBytes) break;
  }
  const whole = Buffer.concat(chunks, total);
  return { body: whole.subarray(0, maxBytes), truncated: total > maxBytes };
}
