import type { EventStream, HttpReply } from "@svc/sdk";
import type { FastifyReply } from "fastify";
import type { ServerSentStream } from "./event-stream.ts";

/** Every answer has them, unless its handler asks for others: what is served here is for the caller alone. */
export const PRIVATE_HEADERS = {
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** Ends an answer with a value as JSON. */
export function sendJson(reply: FastifyReply, value: unknown): void {
  finish(reply, JSON.stringify(value), "application/json; charset=utf-8");
}

function finish(reply: FastifyReply, body: string | Uint8Array, type: string): void {
  for (const [name, value] of Object.entries(PRIVATE_HEADERS)) if (!reply.hasHeader(name)) reply.header(name, value);
  reply.header("content-type", type).send(body);
}

/** Opens the answer's stream; throws 503 when there are too many. */
export type OpenStream = (deferred: boolean) => ServerSentStream;

/** How a handler answers. Exactly one of: a returned value, `send`, `stream`. */
export class ServedReply implements HttpReply {
  /** The handler has answered by itself: what it returns is not sent. */
  used = false;
  #stream: ServerSentStream | undefined;
  readonly #reply: FastifyReply;
  readonly #open: OpenStream;

  constructor(reply: FastifyReply, open: OpenStream) {
    this.#reply = reply;
    this.#open = open;
  }

  status(code: number): this {
    this.#reply.code(code);
    return this;
  }

  header(name: string, value: string): this {
    this.#reply.header(name, value);
    return this;
  }

  send(body: string | Uint8Array, type: string): void {
    this.used = true;
    this.#giveUpStream();
    finish(this.#reply, body, type);
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
    if (value === undefined) this.#reply.code(this.#reply.statusCode === 200 ? 204 : this.#reply.statusCode).send();
    else sendJson(this.#reply, value);
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
