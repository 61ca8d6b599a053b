import type { ServerResponse } from "node:http";
import { pipeline, type Readable } from "node:stream";
import type { EventStream, HttpReply } from "@svc/sdk";
import type { ServerSentStream } from "./event-stream.ts";

/** Default headers of every answer, unless its handler sets others: answers are for the caller alone. */
export const PRIVATE_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Ends an answer with a value as JSON. */
export function sendJson(response: ServerResponse, value: unknown): void {
  finish(response, JSON.stringify(value), "application/json; charset=utf-8");
}

const PRIVATE = Object.entries(PRIVATE_HEADERS);

function setPrivate(response: ServerResponse): void {
  for (const [name, value] of PRIVATE) if (!response.hasHeader(name)) response.setHeader(name, value);
}

function finish(response: ServerResponse, body: string | Uint8Array, type: string): void {
  setPrivate(response);
  response.setHeader("content-type", type);
  response.setHeader("content-length", Buffer.byteLength(body));
  response.end(body);
}

/** A client that takes nothing for so long is given up. */
const STALLED_MS = 60_000;

/** Opens the answer's stream; throws 503 when there are too many. */
export type OpenStream = (deferred: boolean) => ServerSentStream;

/** Answer of a handler. Exactly one of: a returned value, `send`, `stream`. */
export class ServedReply implements HttpReply {
  /** The handler has sent the answer itself: its return value is ignored. */
  used = false;
  #stream: ServerSentStream | undefined;
  readonly #response: ServerResponse;
  readonly #open: OpenStream;

  constructor(response: ServerResponse, open: OpenStream) {
    this.#response = response;
    this.#open = open;
  }

  status(code: number): this {
    this.#response.statusCode = code;
    return this;
  }

  header(name: string, value: string): this {
    this.#response.setHeader(name, value);
    return this;
  }

  send(body: string | Uint8Array, type: string): void {
    this.used = true;
    this.#giveUpStream();
    finish(this.#response, body, type);
  }

  /** Answers piece by piece. Where the bytes fail half-way the connection ends, so that a part is not taken for the whole. Without a body: headers alone. */
  sendStream(body: Readable | undefined, type: string | undefined): void {
    this.used = true;
    this.#giveUpStream();
    const response = this.#response;
    setPrivate(response);
    if (type !== undefined) response.setHeader("content-type", type);
    if (body === undefined) {
      response.end();
      return;
    }
    response.setTimeout(STALLED_MS, () => response.destroy());
    // Where either end fails, pipeline closes both; nothing is left to report.
    pipeline(body, response, () => {});
  }

  stream(options: { readonly deferred?: boolean } = {}): EventStream {
    this.used = true;
    this.#stream ??= this.#open(options.deferred ?? false);
    return this.#stream;
  }

  /** The answer is a stream, or will be one with its first frame. */
  get streaming(): boolean {
    return this.#stream !== undefined;
  }

  /** Send a returned value as JSON; nothing at all is 204. */
  answer(value: unknown): void {
    if (value !== undefined) {
      sendJson(this.#response, value);
      return;
    }
    if (this.#response.statusCode === 200) this.#response.statusCode = 204;
    this.#response.end();
  }

  /** The stream, if it is too late for any other answer; a deferred one without a frame is given up instead. */
  failed(): ServerSentStream | undefined {
    if (this.#stream?.opened) return this.#stream;
    this.#giveUpStream();
    return undefined;
  }

  #giveUpStream(): void {
    this.#stream?.abandon();
    this.#stream = undefined;
  }
}
