import type { Caller, EventStream, HttpReply, HttpRoute } from "../http.ts";
import { onAbort } from "../time.ts";

/** A test's request to a route. Unset: no body, no query, a caller on this machine. */
export interface FakeRequest {
  readonly body?: unknown;
  readonly raw?: Uint8Array;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly caller?: Partial<Caller>;
  readonly signal?: AbortSignal;
}

/** Answer of a route. A thrown error is answered as the daemon does: its `status` (500 without one) and `{error, code?}`. */
export interface FakeAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  /** Server-sent events, where the route answered with a stream. */
  readonly events: readonly { readonly name: string; readonly data: unknown; readonly id?: string }[];
}

/** Finds the route as the daemon does (a literal segment wins over a parameter) and calls its handler. Guards and schemas are not applied. */
export async function callRoute(routes: readonly HttpRoute[], method: string, path: string, request: FakeRequest = {}): Promise<FakeAnswer> {
  const found = routes
    .filter((route) => route.method === method)
    .map((route) => ({ route, params: match(route.path, path) }))
    .filter((one) => one.params !== undefined)
    .sort((left, right) => Object.keys(left.params ?? {}).length - Object.keys(right.params ?? {}).length)[0];
  if (!found?.params) return { status: 404, headers: {}, body: { error: `no route ${method} ${path}` }, events: [] };
  const answer = {
    status: 200,
    headers: {} as Record<string, string>,
    body: undefined as unknown,
    events: [] as { name: string; data: unknown; id?: string }[],
  };
  const signal = request.signal ?? new AbortController().signal;
  const { reply, ended } = createReply(answer, signal);
  try {
    const returned = await found.route.handle(
      {
        method,
        path,
        params: found.params,
        query: request.query ?? {},
        headers: request.headers ?? {},
        body: request.body,
        ...(request.raw ? { raw: request.raw } : {}),
        caller: { address: "127.0.0.1", local: true, ...request.caller },
        signal,
      },
      reply,
    );
    const stream = ended();
    if (stream) await stream;
    else if (returned !== undefined) answer.body = returned;
  } catch (error) {
    const { status, code, message } = error as { status?: number; code?: string; message: string };
    answer.status = status ?? 500;
    answer.body = { error: message, ...(code ? { code } : {}) };
  }
  return answer;
}

function createReply(
  answer: { status: number; headers: Record<string, string>; body: unknown; events: { name: string; data: unknown; id?: string }[] },
  signal: AbortSignal,
) {
  let ended: Promise<void> | undefined;
  const reply: HttpReply = {
    status(code) {
      answer.status = code;
      return reply;
    },
    header(name, value) {
      answer.headers[name.toLowerCase()] = value;
      return reply;
    },
    send(body, type) {
      answer.headers["content-type"] = type;
      answer.body = body;
    },
    stream(): EventStream {
      let closed = false;
      let finish: () => void = () => {};
      ended = new Promise((resolve) => {
        finish = resolve;
      });
      // The client went away.
      const left = () => {
        closed = true;
        finish();
      };
      onAbort(signal, left);
      return {
        event(name, data, id) {
          if (!closed) answer.events.push({ name, data, ...(id === undefined ? {} : { id }) });
          return !closed;
        },
        comment: () => !closed,
        end() {
          closed = true;
          finish();
        },
        get closed() {
          return closed;
        },
      };
    },
  };
  return { reply, ended: () => ended };
}

function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split("/");
  const given = path.split("/");
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return params;
}
