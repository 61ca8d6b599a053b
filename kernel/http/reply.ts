import type { EventStream, HttpReply } from "@svc/sdk";
import type { FastifyReply } from "fastify";
import type { FrameStream } from "./event-stream.ts";

/** Opens the answer's stream; throws 503 when there are too many. */
export type OpenStream = (deferred: boolean) => FrameStream;

/** How a handler answers. Exactly one of: a returned value, `send`, `stream`. */
export class ServedReply implements HttpReply {
  /** The handler has answered by itself: what it returns is not sent. */
  used = false;
  #stream: FrameStream | undefined;
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
    this.#reply.header("content-type", type).send(body);
  }

  stream(options: { readonly deferred?: boolean } = {}): EventStream {
    this.used = true;
    this.#stream ??= this.#open(options.deferred ?? false);
    return this.#stream;
  }

  /** Send a returned value as JSON; nothing at all is 204. */
  answer(value: unknown): void {
    if (value === undefined) this.#reply.code(this.#reply.statusCode === 200 ? 204 : this.#reply.statusCode).send();
    else this.#reply.header("content-type", "application/json; charset=utf-8").send(JSON.stringify(value));
  }
}
