import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import type { Authority, HttpRoute, Identity, Log } from "@svc/sdk";
import { createScopeTable } from "@svc/sdk/host";
import { createHttpServer, type HttpServer, type HttpServerOptions } from "./server.ts";

/** A log that keeps what it was told, for tests that look for secrets in it. */
export function recordingLog(): Log & { readonly lines: string[] } {
  const lines: string[] = [];
  const keep = (facts: object | string, text = "") =>
    void lines.push(`${typeof facts === "string" ? facts : JSON.stringify(facts, (_, value) => (value instanceof Error ? `${value.stack}` : value))} ${text}`);
  return { lines, debug: keep, info: keep, warn: keep, error: keep };
}

/** What the manifests of dashboard and tools server declare. */
export const SCOPES = createScopeTable([
  [
    { name: "dashboard:read" },
    { name: "dashboard:write", includes: ["dashboard:read"] },
    { name: "agent:<id>" },
    { name: "agent:*", includes: ["agent:<id>"] },
  ],
  [{ name: "mcp:<id>" }, { name: "mcp:*", includes: ["mcp:<id>"] }],
]);

export type Serving = HttpServer & { readonly port: number; readonly url: string; readonly log: ReturnType<typeof recordingLog> };

/** A listening server with these routes on a free port of all addresses. */
export async function serve(routes: readonly HttpRoute[] | (() => readonly HttpRoute[]), options: Partial<HttpServerOptions> = {}): Promise<Serving> {
  const log = recordingLog();
  const server = createHttpServer({
    name: "daemon",
    routes: typeof routes === "function" ? routes : () => routes,
    authorities: () => [],
    scopes: SCOPES,
    isIsolated: () => false,
    isChild: async () => false,
    log,
    ...options,
  });
  const { port } = await server.listen({ host: "0.0.0.0", port: 0 });
  return Object.defineProperties(server as Serving, { port: { value: port }, url: { value: `http://127.0.0.1:${port}` }, log: { value: log } });
}

/** An address of this machine that is not loopback; undefined on a machine without a network. */
export const ownAddress = (): string | undefined =>
  Object.values(networkInterfaces())
    .flat()
    .find((card) => card?.family === "IPv4" && !card.internal)?.address;

/** An authority over a table that a test may change at any time. */
export function tableAuthority(table: Record<string, Identity>): Authority & { readonly asked: string[] } {
  const asked: string[] = [];
  return {
    name: "table",
    asked,
    async verify(bearer) {
      asked.push(bearer);
      return table[bearer];
    },
  };
}

export const token = (...scopes: string[]): Identity => ({ kind: "token", id: "tok_1", name: "one", scopes });
export const peer = (name: string): Identity => ({ kind: "peer", name });
/** A header by which a request from this machine counts as one from another. */
export const REMOTE = { "x-forwarded-for": "8.8.8.8" };
export const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });

export const json = (body: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

/** Status and body of one exchange written byte by byte; resolves when the server has answered and closed, or answered whole. */
export function rawExchange(port: number, text: string | Buffer, host = "127.0.0.1"): Promise<{ status: number; head: string; body: string; closed: boolean }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(text));
    let answer = "";
    const settle = (closed: boolean) => {
      const [head = "", body = ""] = answer.split(/\r\n\r\n([\s\S]*)/);
      resolve({ status: Number(head.split(" ")[1] ?? 0), head, body, closed });
      socket.destroy();
    };
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer = (answer + chunk).replace(/^HTTP\/1.1 100 Continue\r\n\r\n/, "");
      const length = /content-length: (\d+)/i.exec(answer)?.[1];
      const end = answer.indexOf("\r\n\r\n");
      if (!/connection: close/i.test(answer) && length !== undefined && end !== -1 && Buffer.byteLength(answer.slice(end + 4)) >= Number(length)) settle(false);
    });
    socket.on("end", () => settle(true));
    socket.on("error", (error) => (answer === "" ? reject(error) : settle(true)));
  });
}

/** The frames of a stream as they come: `[event name, data]`, comments as `[":", text]`. */
export async function* frames(response: Response): AsyncGenerator<[name: string, data: unknown]> {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    rest += decoder.decode(chunk, { stream: true });
    const pieces = rest.split("\n\n");
    rest = pieces.pop() ?? "";
    for (const piece of pieces) {
      if (piece.startsWith(":")) yield [":", piece.slice(2)];
      else yield [/^event: (.*)$/m.exec(piece)?.[1] ?? "", JSON.parse(/^data: (.*)$/m.exec(piece)?.[1] ?? "null")];
    }
  }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
