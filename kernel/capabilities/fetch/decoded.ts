import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { pipeline, type Readable, type Transform } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";

/** An answer with more encodings than this is returned undecoded. */
const MOST_CODINGS = 3;
/** As browsers do: decode the received part of a truncated stream. */
const LENIENT = { finishFlush: constants.Z_SYNC_FLUSH };

/** The body of a response with its content codings (gzip, deflate, br, also several) taken off; one it does not know is left on. */
export async function decoded(response: IncomingMessage): Promise<Readable> {
  const codings = (response.headers["content-encoding"] ?? "")
    .toLowerCase()
    .split(",")
    .map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length === 0 || codings.length > MOST_CODINGS) return response;
  const decoders: Transform[] = [];
  for (const coding of codings.reverse()) {
    const decoder = await decoderOf(coding, decoders.length === 0 ? response : undefined);
    if (decoder === undefined) return response;
    decoders.push(decoder);
  }
  // The last one carries an error of any of them to its reader, and the end of its reader back to the socket.
  pipeline([response, ...decoders], () => undefined);
  return decoders.at(-1) as Readable;
}

async function decoderOf(coding: string, source: IncomingMessage | undefined): Promise<Transform | undefined> {
  if (coding === "gzip" || coding === "x-gzip") return createGunzip(LENIENT);
  if (coding === "br") return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  if (coding !== "deflate") return undefined;
  // `deflate` means the zlib format, but some servers send raw deflate: the first byte distinguishes them.
  const first = source === undefined ? undefined : await firstByte(source);
  return first === undefined || (first & 0x0f) === 8 ? createInflate(LENIENT) : createInflateRaw(LENIENT);
}

async function firstByte(source: IncomingMessage): Promise<number | undefined> {
  await once(source, "readable");
  const head = source.read() as Buffer | null;
  if (head === null) return undefined;
  source.unshift(head);
  return head[0];
}
