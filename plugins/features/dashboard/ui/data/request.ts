import { ApiError } from "./api-error.ts";
import { session } from "./session.ts";

/** Options of a request besides its body. */
export interface RequestOptions {
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the dashboard itself, whichever daemon is shown. */
  readonly here?: boolean;
}

/** Returns the address of a path for the current daemon: at this server, which forwards requests to another daemon. */
export function addressOf(path: string): string {
  const daemon = session.daemon();
  return daemon === undefined ? path : `/api/via/${encodeURIComponent(daemon)}${path}`;
}

/** With which token each answer was asked for. */
const askedWith = new WeakMap<Response, string | undefined>();

/** Sends a request with the token and takes whatever answer comes; rejects with an `ApiError` of status 0 where none does. */
export async function send(method: string, path: string, body: unknown, { signal, headers, here }: RequestOptions = {}): Promise<Response> {
  const token = session.token();
  try {
    const answer = await fetch(here ? path : addressOf(path), {
      method,
      headers: {
        accept: "application/json",
        "x-requested-with": "svc-board",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
      ...(signal === undefined ? {} : { signal }),
      cache: "no-store",
      credentials: "omit",
    });
    askedWith.set(answer, token);
    return answer;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError(0, { error: `${location.host} does not answer.`, code: "NOT_CONNECTED" });
  }
}

/** Creates the error of an unsuccessful answer; 401 also opens the sign-in dialog. */
export async function failed(answer: Response): Promise<ApiError> {
  const text = await answer.text().catch(() => "");
  let details: unknown;
  try {
    details = JSON.parse(text);
  } catch {
    details = { error: text.slice(0, 500) || `The server answered ${answer.status}.` };
  }
  const error = new ApiError(answer.status, typeof details === "object" && details !== null ? (details as Record<string, unknown>) : {});
  if (answer.status === 401) session.refuse(error.message, { token: askedWith.get(answer) });
  return error;
}

/**
 * A request to the daemon in use, with its JSON answer; text where the answer is no JSON. Rejects with an `ApiError`. A string body is sent
 * as it is (with `headers: {"content-type": ...}` where it is no JSON).
 */
export async function request<T = unknown>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<T> {
  const answer = await send(method, path, body, options);
  if (!answer.ok) throw await failed(answer);
  const text = await answer.text();
  if (text === "") return undefined as T;
  return (/\bjson\b/.test(answer.headers.get("content-type") ?? "") ? JSON.parse(text) : text) as T;
}

/** As `request`, with the headers of the answer: for `etag` and the like. */
export async function requestWithHeaders<T = unknown>(
  method: string,
  path: string,
  body?: unknown,
  options: RequestOptions = {},
): Promise<{ readonly data: T; readonly headers: Headers }> {
  const answer = await send(method, path, body, options);
  if (!answer.ok) throw await failed(answer);
  const text = await answer.text();
  return { data: (/\bjson\b/.test(answer.headers.get("content-type") ?? "") ? JSON.parse(text) : text) as T, headers: answer.headers };
}
