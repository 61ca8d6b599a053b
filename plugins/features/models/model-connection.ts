import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { createParser } from "eventsource-parser";
import { VendorError } from "./model-failure.ts";

/** Connections to vendors, kept for the next call while they are idle. */
export interface Connections {
  /** Resolves when the headers are there, whatever the status. Rejects when there is no answer, or when `signal` aborts. */
  post(url: URL, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal | undefined): Promise<Answer>;
  /** Closes idle connections; those in use close with their call. */
  close(): void;
}

/** An answer that is being read. It must be released or closed. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** The data of the events that have come; undefined at the end of the answer. Rejects when it breaks off. */
  next(): Promise<readonly string[] | undefined>;
  /** The start of the body, for an answer that holds no events. */
  text(): Promise<string>;
  /** Nothing more is wanted. What little is left is read, so that the connection can be used again. */
  release(): void;
  /** Ends the connection. */
  close(): void;
}

const IDLE_MS = 60_000;
/** Characters read of a body that is not a stream of events. */
const MAX_TEXT = 65_536;
const TEXT_MS = 10_000;
/** Of one event, in characters. */
const MAX_EVENT = 8 * 1_048_576;
/** Events that may wait for the reader before the vendor has to. */
const MOST_WAITING = 1_000;
/** Timeout for draining an answer that has ended. */
const REST_MS = 1_000;

/** No connection is opened before the first `post`. */
export function createConnections(): Connections {
  const kept = { keepAlive: true, timeout: IDLE_MS, scheduling: "lifo" } as const;
  const plain = new HttpAgent(kept);
  const secure = new HttpsAgent(kept);

  function send(url: URL, headers: Readonly<Record<string, string>>, bytes: Buffer, signal: AbortSignal | undefined): Promise<Answer> {
    const options = { method: "POST", headers: { ...headers, "content-length": bytes.length }, insecureHTTPParser: false };
    return new Promise((resolve, reject) => {
      const request = url.protocol === "https:" ? httpsRequest(url, { ...options, agent: secure }) : httpRequest(url, { ...options, agent: plain });
      // A listener of our own and no signal that is derived from it: such a one may be collected while the call is silent.
      const stop = () => void request.destroy(new Error("the call was ended"));
      const settled = () => signal?.removeEventListener("abort", stop);
      signal?.addEventListener("abort", stop, { once: true });
      request.once("close", settled);
      request.on("error", (error) => reject(Object.assign(error, { stale: request.reusedSocket })));
      request.once("response", (response) => resolve(answerOf(request, response, settled)));
      request.end(bytes);
    });
  }

  return {
    async post(url, headers, body, signal) {
      signal?.throwIfAborted();
      const bytes = Buffer.from(body);
      try {
        return await send(url, headers, bytes, signal);
      } catch (error) {
        const { code, stale } = error as { code?: string; stale?: boolean };
        if (signal?.aborted || stale !== true || (code !== "ECONNRESET" && code !== "EPIPE")) throw error;
        // The vendor closed the idle connection while the request was on its way, so it has not read it: send it again.
        return await send(url, headers, bytes, signal);
      }
    },
    close() {
      plain.destroy();
      secure.destroy();
    },
  };
}

function answerOf(request: ClientRequest, response: IncomingMessage, settled: () => void): Answer {
  let waiting: string[] = [];
  let over: { readonly error?: Error } | undefined;
  let wake = (): void => {};
  const end = (error?: Error): void => {
    over ??= error === undefined ? {} : { error };
    wake();
  };
  const more = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });
  response.on("error", end);
  response.on("end", () => end());
  response.on("close", () => end(new Error("the connection was cut")));
  response.setEncoding("utf8");

  function listen(): void {
    const parser = createParser({
      maxBufferSize: MAX_EVENT,
      onEvent: ({ data }) => void waiting.push(data),
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") end(new VendorError("protocol", `one event has more than ${MAX_EVENT} characters`));
      },
    });
    response.on("data", (text: string) => {
      if (over !== undefined) return;
      parser.feed(text);
      if (waiting.length > MOST_WAITING) response.pause();
      if (waiting.length > 0) wake();
    });
  }

  let listens = false;
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    async next() {
      if (!listens) {
        listens = true;
        listen();
      }
      if (waiting.length === 0 && over === undefined) await more();
      if (waiting.length > 0) {
        const given = waiting;
        waiting = [];
        if (response.isPaused()) response.resume();
        return given;
      }
      if (over?.error !== undefined) throw over.error;
      return undefined;
    },
    async text() {
      let text = "";
      const late = setTimeout(end, TEXT_MS);
      response.on("data", (part: string) => {
        text += part;
        if (text.length >= MAX_TEXT) end();
      });
      if (over === undefined) await more();
      clearTimeout(late);
      return text.slice(0, MAX_TEXT);
    },
    release() {
      settled();
      if (response.complete) {
        response.resume();
        return;
      }
      const late = setTimeout(() => request.destroy(), REST_MS).unref();
      response.once("close", () => clearTimeout(late));
      response.resume();
    },
    close() {
      settled();
      request.destroy();
    },
  };
}
