import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { HookControl } from "./forge-deliveries.ts";

/** Where people write at a forge. `id` is the number of an issue or request, or the hash of a commit. */
export interface ForgePlace {
  readonly project: string;
  readonly kind: "issue" | "request" | "commit";
  readonly id: number | string;
  /** A discussion or the first comment of a thread; unset: a new one. */
  readonly thread?: string;
}

/** What a user may do in a project. */
export type ForgeRight = "write" | "report" | "none";

/** The line of a diff that a comment is about. */
export interface ForgePosition {
  readonly path: string;
  readonly line: number;
  readonly side?: "old" | "new";
  readonly sha?: string;
}

/** A comment as people see it. */
export interface ForgeComment {
  readonly id: number;
  /** With its thread. */
  readonly place: ForgePlace;
  /** The login of its author. */
  readonly by: string;
  readonly text: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly internal: boolean;
  readonly system: boolean;
  readonly position?: ForgePosition;
  readonly reactions: readonly { readonly by: string; readonly emoji: string }[];
}

/** How a comment is made. */
export interface CommentOptions {
  readonly internal?: boolean;
  readonly system?: boolean;
  readonly position?: ForgePosition;
  /** When it was written, in Unix milliseconds; default now. */
  readonly at?: number;
}

/** A user of a forge. */
export interface ForgeUser {
  readonly id: number;
  readonly login: string;
  readonly bot: boolean;
}

/** A request as the forge got it. `token` is what it came with, whatever the header. */
export interface ForgeRequest {
  readonly method: string;
  /** Without the query, as it was written: `%2F` stays. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly token?: string;
  readonly at: number;
  /** What was answered; 0 where the connection was cut or nothing came. */
  status?: number;
}

/** What is answered to a request. */
export interface ForgeAnswer {
  readonly status: number;
  /** JSON, or bytes as they are. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** How the next calls of the API go wrong. `after`: what was asked for is done first. */
export type ForgeFault =
  | {
      readonly kind: "limited";
      readonly retryAfter?: string;
      readonly status?: 403 | 429 | 503;
      readonly message?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: "status"; readonly status: number; readonly after?: true; readonly body?: unknown }
  | { readonly kind: "cut"; readonly after?: true }
  | { readonly kind: "hang" }
  | { readonly kind: "redirect"; readonly to: string }
  | { readonly kind: "link"; readonly to: string };

/** Which calls a fault meets: by default any. */
export interface FaultMatch {
  readonly times?: number;
  readonly method?: string;
  /** Part of the path, or a pattern of it. */
  readonly path?: string | RegExp;
  /** Calls with this token alone. */
  readonly token?: string;
}

/** Faults of the API that are still to come. */
export interface FaultControl {
  next(fault: ForgeFault, match?: FaultMatch): void;
  /** Lists show a comment only this long after it was made, in milliseconds; 0: at once. */
  lag: number;
  clear(): void;
}

/** The far end of a forge: a real HTTP server with its state, driven by a test on one side and by any client on the other. */
export interface ForgeServer {
  /** The origin of its API, without a slash at the end. */
  readonly url: string;
  addUser(login: string, options?: { readonly bot?: boolean; readonly id?: number }): ForgeUser;
  /** The user acts by it until it is revoked. */
  addToken(token: string, login: string, options?: { readonly scopes?: readonly string[] }): void;
  revokeToken(token: string): void;
  /** `members` by login; who is not named has no right in it. */
  addProject(
    path: string,
    options?: { readonly private?: boolean; readonly members?: Readonly<Record<string, ForgeRight>>; readonly labels?: readonly string[] },
  ): {
    readonly id: number;
    readonly path: string;
  };
  grant(project: string, login: string, right: ForgeRight): void;
  /** Opens an issue or a request; its description is a note too. */
  open(
    by: string,
    project: string,
    kind: "issue" | "request",
    what: { readonly title: string; readonly text?: string; readonly labels?: readonly string[]; readonly at?: number },
  ): ForgePlace;
  /** Makes a commit that can be commented. */
  commit(project: string, sha: string): ForgePlace;
  /** Somebody writes there; hooks are sent. Without a thread in the place it begins one, where the forge has them. */
  comment(by: string, place: ForgePlace, text: string, options?: CommentOptions): ForgeComment;
  edit(by: string, id: number, text: string): ForgeComment;
  /** Edits the description of an issue or a request. */
  describe(by: string, place: ForgePlace, text: string): void;
  remove(id: number): void;
  /** Oldest first, of all threads of the place, or of the one that it names. */
  comments(place: ForgePlace): readonly ForgeComment[];
  /** Labels of an issue or a request, and whether it is open, closed or merged. */
  item(place: ForgePlace): { readonly labels: readonly string[]; readonly state: "open" | "closed" | "merged" };
  /** Puts a file where pictures of a project lie; resolves with the markdown that shows it. `login`: the forge answers with a page to sign in. */
  upload(project: string, name: string, data: Uint8Array, options?: { readonly login?: true; readonly redirect?: string }): string;
  readonly hooks: HookControl;
  readonly faults: FaultControl;
  readonly requests: readonly ForgeRequest[];
  /** What was against the published API, or must never happen (an agent's answer that ran a command): tests expect none. */
  readonly violations: readonly string[];
  close(): Promise<void>;
}

/** What a forge makes of a request that met no fault. */
export type Answering = (request: ForgeRequest) => ForgeAnswer | Promise<ForgeAnswer>;

/** The HTTP side that the forges share: it reads requests, keeps them, lets faults happen, and answers. */
export interface ForgeHttp {
  readonly url: string;
  readonly requests: readonly ForgeRequest[];
  readonly faults: FaultControl;
  close(): Promise<void>;
}

/** Opens it on a free port of loopback. `tokenOf` reads the credential from the headers. */
export async function startForgeHttp(answering: Answering, tokenOf: (headers: ForgeRequest["headers"]) => string | undefined): Promise<ForgeHttp> {
  const requests: ForgeRequest[] = [];
  const pending: { fault: ForgeFault; match: FaultMatch; left: number }[] = [];
  const faults: FaultControl = {
    next: (fault, match = {}) => void pending.push({ fault, match, left: match.times ?? 1 }),
    lag: 0,
    clear: () => {
      pending.length = 0;
      faults.lag = 0;
    },
  };

  function faultOf({ method, path, token }: ForgeRequest): ForgeFault | undefined {
    const at = pending.findIndex(
      ({ match }) =>
        (match.method === undefined || match.method === method) &&
        (match.token === undefined || match.token === token) &&
        (match.path === undefined || (typeof match.path === "string" ? path.includes(match.path) : match.path.test(path))),
    );
    const found = pending[at];
    if (found === undefined) return undefined;
    found.left -= 1;
    if (found.left <= 0) pending.splice(at, 1);
    return found.fault;
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const [path = "", query = ""] = (incoming.url ?? "").split("?", 2);
    const headers = Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]));
    const token = tokenOf(headers);
    const request: ForgeRequest = {
      method: incoming.method ?? "",
      path,
      query: new URLSearchParams(query),
      headers,
      body: Buffer.concat(chunks),
      at: Date.now(),
      ...(token === undefined ? {} : { token }),
    };
    requests.push(request);
    const fault = faultOf(request);
    if (fault?.kind === "hang") return;
    const refusal = fault && refusalOf(fault);
    const answer = refusal !== undefined && !(fault && "after" in fault) ? refusal : await answering(request);
    if (fault?.kind === "cut") {
      request.status = 0;
      incoming.socket.destroy();
      return;
    }
    const last = refusal ?? answer;
    const link = fault?.kind === "link" ? { link: `<${fault.to}>; rel="next"` } : {};
    request.status = last.status;
    write(response, { ...last, headers: { ...last.headers, ...link } });
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      if (!response.headersSent) write(response, { status: 500, body: { message: `the far end itself broke: ${(error as Error).stack}` } });
    });
  });
  return { url: await listening(server), requests, faults, close: () => closed(server) };
}

/** What is answered in place of the forge. Undefined where the forge's own answer goes out. */
function refusalOf(fault: ForgeFault): ForgeAnswer | undefined {
  if (fault.kind === "limited") {
    const retry = fault.retryAfter === undefined ? {} : { "retry-after": fault.retryAfter };
    return { status: fault.status ?? 429, body: { message: fault.message ?? "Too Many Requests" }, headers: { ...retry, ...fault.headers } };
  }
  if (fault.kind === "status") return { status: fault.status, body: fault.body ?? { message: `${fault.status} by order` } };
  if (fault.kind === "redirect") return { status: 302, headers: { location: fault.to } };
  // A cut before the effect needs no answer, only that the forge is not asked.
  return fault.kind === "cut" ? { status: 0 } : undefined;
}

function write(response: ServerResponse, { status, body, headers = {} }: ForgeAnswer): void {
  if (body === undefined) response.writeHead(status, headers).end();
  else if (body instanceof Uint8Array) response.writeHead(status, { "content-type": "application/octet-stream", ...headers }).end(body);
  else response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise<void>((resolve) => server.close(() => resolve()));
}
