import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller, Guard, HttpRequest } from "@svc/sdk";

/** The parts of a request target. */
export interface Target {
  /** As sent, still encoded, without query and prefix. */
  readonly path: string;
  /** Decoded; of a name given twice the first counts. `token` is not in it. */
  readonly query: Readonly<Record<string, string>>;
  readonly token: string | undefined;
}

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({});

/** Parses a target and removes the bearer from it: from here on no log, handler or error contains it. */
export function takeTarget(raw: IncomingMessage, prefix: string): Target {
  const url = raw.url ?? "/";
  const mark = url.indexOf("?");
  const whole = mark === -1 ? url : url.slice(0, mark);
  const path = prefix === "" ? whole : whole.slice(prefix.length) || "/";
  if (mark === -1) return { path, query: NO_QUERY, token: undefined };
  const query: Record<string, string> = {};
  const given = new URLSearchParams(url.slice(mark + 1));
  for (const [name, value] of given) if (name !== "token" && !Object.hasOwn(query, name)) Object.defineProperty(query, name, { value, enumerable: true });
  const token = given.get("token");
  if (token === null) return { path, query, token: undefined };
  given.delete("token");
  raw.url = given.size === 0 ? whole : `${whole}?${given}`;
  return { path, query, token };
}

/** A request as its handler sees it. */
export class ServedRequest implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage["headers"];
  readonly caller: Caller;
  body: unknown;
  raw?: Uint8Array;
  readonly may: (guard: Guard) => boolean;
  readonly #response: ServerResponse;
  #abort: AbortController | undefined;

  constructor(
    raw: IncomingMessage,
    response: ServerResponse,
    { path, query }: Target,
    params: Readonly<Record<string, string>>,
    caller: Caller,
    may: (guard: Guard) => boolean,
  ) {
    this.method = raw.method ?? "GET";
    this.path = path;
    this.params = params;
    this.query = query;
    this.headers = raw.headers;
    this.caller = caller;
    this.may = may;
    this.#response = response;
  }

  /** Created lazily: most handlers never read it. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      const response = this.#response;
      const leave = () => {
        if (!response.writableFinished) abort.abort();
      };
      if (response.destroyed) leave();
      else response.once("close", leave);
    }
    return this.#abort.signal;
  }
}
