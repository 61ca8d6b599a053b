import { request as httpRequest, type IncomingMessage } from "node:http";
import { coded, fail } from "./errors.ts";

/** Where the daemon listens. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly tls?: boolean;
  /** Prefix of each path, without a slash at its end. */
  readonly base?: string;
}

/** The HTTP methods that the daemon's interface uses. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Headers and signal of a request, and a check that runs before its answer is used. */
export interface Terms {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Rejects an answer that does not come from the intended daemon. */
  judge?(response: IncomingMessage): Promise<void>;
}

/** Ask the daemon and take its JSON. A refusal becomes an error with the daemon's own words, code and status. */
export async function ask(address: Address, method: Method, path: string, body?: unknown, terms: Terms = {}): Promise<unknown> {
  const response = await send(address, method, path, body, "application/json", terms);
  const text = await collect(response);
  const answer = text === "" ? undefined : parse(text);
  if ((response.statusCode ?? 500) < 400) return answer;
  throw refusal(response, answer, path);
}

/** One frame of a server-sent stream. */
export interface Frame {
  readonly event: string;
  readonly data: unknown;
  readonly id?: string;
}

/** Ask for a stream, server-sent or of JSON lines, and yield its frames as they come. Ends when the daemon ends it; throws when the connection breaks. */
export async function* stream(address: Address, method: Method, path: string, body?: unknown, terms: Terms = {}): AsyncGenerator<Frame> {
  const response = await send(address, method, path, body, "text/event-stream, application/x-ndjson;q=0.9", terms);
  if ((response.statusCode ?? 500) >= 400) throw refusal(response, parse(await collect(response)), path);
  response.setEncoding("utf8");
  const lines = /^application\/(?:x-)?ndjson\b/.test(response.headers["content-type"] ?? "");
  const end = lines ? "\n" : "\n\n";
  let rest = "";
  for await (const chunk of response) {
    const frames = (rest + chunk).split(end);
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const read = lines ? lineFrame(frame) : sentFrame(frame);
      if (read !== undefined) yield read;
    }
  }
  const last = lines ? lineFrame(rest) : undefined;
  if (last !== undefined) yield last;
}

const lineFrame = (line: string): Frame | undefined => (line.trim() === "" ? undefined : { event: "message", data: parse(line) });

/** Undefined for a comment. */
function sentFrame(frame: string): Frame | undefined {
  const fields = frame.split("\n").map((line) => /^(event|data|id): ?(.*)$/.exec(line));
  const valuesOf = (name: string) => fields.flatMap((field) => (field?.[1] === name ? [field[2] as string] : []));
  const [event, data, id] = [valuesOf("event").at(-1), valuesOf("data"), valuesOf("id").at(-1)];
  if (event === undefined && data.length === 0) return undefined;
  return { event: event ?? "message", data: parse(data.join("\n")), ...(id === undefined ? {} : { id }) };
}

async function send(
  { host, port, tls = false, base = "" }: Address,
  method: Method,
  path: string,
  body: unknown,
  accept: string,
  terms: Terms,
): Promise<IncomingMessage> {
  if (port === 0) throw fail("SVC_CLI_NO_DAEMON", { address: `${host}:${port}` });
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const { headers, signal } = terms;
  const begin = tls ? (await import("node:https")).request : httpRequest;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = begin(
      {
        host,
        port,
        method,
        path: `${base}${path}`,
        agent: false,
        ...(signal === undefined ? {} : { signal }),
        headers: {
          accept,
          ...headers,
          ...(payload === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(payload) }),
        },
      },
      resolve,
    );
    request.on("error", (error: NodeJS.ErrnoException) =>
      reject(error.code === "ECONNREFUSED" || error.code === "ENOENT" ? fail("SVC_CLI_NO_DAEMON", { address: `${host}:${port}` }) : error),
    );
    request.end(payload);
  });
  try {
    await terms.judge?.(response);
  } catch (error) {
    response.destroy();
    throw error;
  }
  return response;
}

async function collect(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += chunk;
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function refusal(response: IncomingMessage, answer: unknown, path: string): Error {
  const { error, code, ...facts } = (typeof answer === "object" && answer !== null ? answer : {}) as { error?: string; code?: string };
  const text = error ?? `The daemon answered ${response.statusCode} to ${path.split("?")[0]}`;
  return coded(code ?? "SVC_CLI_REFUSED", text, { status: response.statusCode ?? 500, ...facts });
}
