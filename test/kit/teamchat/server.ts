import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type Call, Refused } from "./call.ts";
import { METHODS } from "./methods.ts";
import { readArguments } from "./shapes.ts";
import { createSocketMode, type SocketMode } from "./sockets.ts";
import { wireOf } from "./wire.ts";
import { alertsOf, createWorld, type Person, type Post, type Room, type StoredFile, type Workspace, type World, wordsOf } from "./world.ts";

/** A call of the Web API. */
export interface ApiCall {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly token: string;
  /** Milliseconds by the monotonic clock. */
  readonly at: number;
}

/** A refusal in place of the answer: `cut` breaks the connection after the effect, `hang` never answers. */
export type ApiFault =
  | { readonly error: string; readonly more?: Readonly<Record<string, unknown>> }
  | { readonly status: number; readonly retryAfter?: number }
  | "cut"
  | "hang";

/** What somebody says. */
export interface Words {
  readonly user: string;
  readonly text?: string;
  readonly thread?: string;
  readonly files?: readonly { readonly name: string; readonly data: Uint8Array; readonly mimetype?: string }[];
  readonly subtype?: string;
  /** Laid over the event. */
  readonly more?: Readonly<Record<string, unknown>>;
}

/** A strict server of the Web API and of socket mode on this machine: any client of the platform can drive it. */
export interface Teamchat {
  /** `slackApiUrl` of a client. */
  readonly root: string;
  readonly url: string;
  readonly world: World;
  readonly sockets: SocketMode;
  readonly calls: ApiCall[];
  /** Arguments that no such method takes, frames that are none. */
  readonly violations: string[];
  /** Called for each call of a method that writes; what it answers takes the place of the answer. */
  fault: (call: ApiCall) => ApiFault | undefined;
  /** The same for each call of a method that reads. */
  reading: (call: ApiCall) => ApiFault | undefined;
  addWorkspace(
    team: string,
    options?: { name?: string; bot?: string; botUser?: string; appToken?: string; botToken?: string; appId?: string; scopes?: readonly string[] },
  ): Workspace;
  addPerson(team: string, id: string, name: string, realName?: string): Person;
  addRoom(team: string, kind: Room["kind"], id: string, members: readonly string[]): Room;
  /** Resolves with nothing to wait for: the message stands there, and events are on their way. */
  say(room: string, words: Words): Post;
  press(by: { user: string; room: string; ts: string; value: string; label?: string }): void;
  /** The newest event once more, over an envelope of its own and as a first attempt. */
  repeat(): void;
  /** Messages of the bot in a room, oldest first. */
  shown(room: string, thread?: string): readonly (Post & { readonly words: string })[];
  readonly whispers: { readonly room: string; readonly user: string; readonly text: string }[];
  /** People and rooms that messages of bots alerted. */
  alerts(): readonly string[];
  file(id: string): StoredFile;
  /** Requests for files that came with no token, or to a host where it has no business. */
  readonly strayTokens: string[];
  cutAll(): void;
  refuse(on: boolean): void;
  close(): Promise<void>;
}

export const ALL_SCOPES = [
  "app_mentions:read",
  "channels:history",
  "channels:read",
  "chat:write",
  "files:read",
  "files:write",
  "groups:history",
  "groups:read",
  "im:history",
  "im:read",
  "mpim:history",
  "mpim:read",
  "reactions:write",
  "users:read",
] as const;

const WRITING = /^(?:chat\.|reactions\.|files\.)/;

export async function startTeamchat(): Promise<Teamchat> {
  const world = createWorld();
  const sockets = createSocketMode(world);
  const open = new Set<Socket>();
  const uploaded = new Set<string>();
  let refusing = false;
  let newest: { appToken: string; payload: Record<string, unknown> } | undefined;

  const far: Teamchat = {
    root: "",
    url: "",
    world,
    sockets,
    calls: [],
    violations: [],
    whispers: [],
    strayTokens: [],
    fault: () => undefined,
    reading: () => undefined,
    addWorkspace(
      team,
      {
        name = team,
        bot = "helper",
        botUser = `UB${team}`,
        appToken = `xapp-1-${team}-secret`,
        botToken = `xoxb-${team}-secret`,
        appId = `A${team.slice(1)}`,
        scopes = ALL_SCOPES,
      } = {},
    ) {
      const person: Person = { id: botUser, name: bot, realName: bot, team, botId: `B${botUser.slice(2)}` };
      world.people.set(person.id, person);
      const workspace: Workspace = { team, name, appId, bot: person, botToken, appToken, scopes: new Set(scopes), socketMode: true };
      world.workspaces.push(workspace);
      return workspace;
    },
    addPerson(team, id, name, realName = name) {
      const person = { id, name, realName, team };
      world.people.set(id, person);
      return person;
    },
    addRoom(team, kind, id, members) {
      const room: Room = { id, team, name: id.toLowerCase(), kind, members: new Set(members), posts: [] };
      world.rooms.set(id, room);
      return room;
    },
    say(id, { user, text = "", thread, files = [], subtype, more = {} }) {
      const room = world.room(id) as Room;
      const person = world.people.get(user);
      const stored = files.map(({ name, data, mimetype = "image/png" }): StoredFile => {
        const file: StoredFile = { id: world.id("F"), team: room.team, name, mimetype, data, user, state: "there" };
        world.files.set(file.id, file);
        uploaded.add(file.id);
        return file;
      });
      const kind = subtype ?? (stored.length > 0 ? "file_share" : undefined);
      const post: Post = {
        ts: world.ts(),
        user,
        ...(person === undefined ? {} : { team: person.team }),
        text,
        mrkdwn: true,
        files: stored,
        reactions: new Map(),
        edits: 0,
        ...(person?.botId === undefined ? {} : { botId: person.botId }),
        ...(thread === undefined ? {} : { threadTs: thread }),
        ...(kind === undefined ? {} : { subtype: kind }),
      };
      room.posts.push(post);
      tell(room, post, more);
      return post;
    },
    press({ user, room: id, ts, value, label = value }) {
      const room = world.room(id) as Room;
      const workspace = workspaceOf(room);
      const post = room.posts.find((one) => one.ts === ts);
      const action = { type: "button", action_id: "a", block_id: "b", value, text: { type: "plain_text", text: label }, action_ts: world.ts() };
      const payload = {
        type: "block_actions",
        api_app_id: workspace.appId,
        team: { id: room.team },
        user: { id: user, team_id: room.team, username: world.people.get(user)?.name },
        container: { type: "message", message_ts: ts, channel_id: id, ...(post?.threadTs ? { thread_ts: post.threadTs } : {}) },
        channel: { id, name: room.name },
        ...(post === undefined ? {} : { message: wireOf(post, far.url, room) }),
        response_url: `${far.url}/response/1`,
        actions: [action],
      };
      sockets.offer(workspace.appToken, "interactive", payload, false);
    },
    repeat() {
      if (newest !== undefined) sockets.offer(newest.appToken, "events_api", newest.payload);
    },
    shown(id, thread) {
      const room = world.room(id) as Room;
      const posts = room.posts.filter((post) => post.user === workspaceOf(room).bot.id && (thread === undefined || post.threadTs === thread));
      return posts.map((post) => Object.assign(Object.create(post) as Post, { words: wordsOf(post) }));
    },
    alerts: () => [...world.rooms.values()].flatMap(({ posts }) => posts.filter(({ botId }) => botId !== undefined).flatMap(alertsOf)),
    file: (id) => world.files.get(id) as StoredFile,
    cutAll() {
      sockets.cutAll();
      for (const socket of open) socket.destroy();
    },
    refuse(on) {
      refusing = on;
      sockets.refuse(on);
    },
    close: () =>
      new Promise((resolve) => {
        sockets.close();
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };

  const workspaceOf = (room: Room): Workspace => world.workspaces.find(({ team }) => team === room.team) as Workspace;

  /** One message is up to two events, each with an id of its own. */
  function tell(room: Room, post: Post, more: Readonly<Record<string, unknown>> = {}): void {
    for (const workspace of world.workspaces) if (workspace.team === room.team && room.members.has(workspace.bot.id)) tellOne(workspace, room, post, more);
  }

  function tellOne(workspace: Workspace, room: Room, post: Post, more: Readonly<Record<string, unknown>>): void {
    const base = {
      ...wireOf(post, far.url),
      channel: room.id,
      channel_type: room.kind,
      event_ts: post.ts,
      ...more,
    };
    const parent = room.posts.find(({ ts }) => ts === post.threadTs);
    offer(workspace, { ...base, ...(parent === undefined ? {} : { parent_user_id: parent.user }) });
    if (room.kind !== "im" && post.text.includes(`<@${workspace.bot.id}>`)) offer(workspace, { ...base, type: "app_mention" });
  }

  function offer({ team, appId, appToken, bot }: Workspace, event: Record<string, unknown>): void {
    const payload = {
      token: "verification",
      team_id: team,
      api_app_id: appId,
      event,
      type: "event_callback",
      event_id: world.id("Ev"),
      event_time: Math.floor(Date.now() / 1000),
      authorizations: [{ team_id: team, user_id: bot.id, is_bot: true }],
    };
    newest = { appToken, payload };
    sockets.offer(appToken, "events_api", payload);
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (refusing) return void request.socket.destroy();
    const url = new URL(request.url ?? "/", far.url);
    const body = await bytesOf(request);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (url.pathname.startsWith("/upload/v1/")) return upload(url.pathname.slice(11), body, token, request, response);
    if (url.pathname.startsWith("/files-pri/")) return download(url.pathname, token, response);
    const method = /^\/api\/([\w.]+)$/.exec(url.pathname)?.[1];
    if (method === undefined) return void response.writeHead(404).end();
    const given = { ...Object.fromEntries(url.searchParams), ...readBody(body, String(request.headers["content-type"] ?? "")) };
    const call: ApiCall = { method, args: given, token: token ?? String(given.token ?? ""), at: performance.now() };
    far.calls.push(call);
    const fault = WRITING.test(method) ? far.fault(call) : far.reading(call);
    if (fault === "hang") return;
    if (typeof fault === "object" && "status" in fault) {
      const headers = fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
      return void response.writeHead(fault.status, headers).end(fault.status === 429 ? '{"ok":false,"error":"ratelimited"}' : "upstream");
    }
    const said = typeof fault === "object" ? { ok: false, error: fault.error, ...fault.more } : run(call);
    if (fault === "cut") return void request.socket.destroy();
    const scopes = world.workspaces.find(({ botToken }) => botToken === call.token)?.scopes;
    response.writeHead(200, {
      "content-type": "application/json; charset=utf-8",
      ...(scopes === undefined ? {} : { "x-oauth-scopes": [...scopes].join(",") }),
    });
    response.end(JSON.stringify(said));
  }

  function run({ method: name, args: given, token }: ApiCall): Record<string, unknown> {
    const method = METHODS[name];
    if (method === undefined) {
      far.violations.push(`no method ${name}`);
      return { ok: false, error: "unknown_method", req_method: name };
    }
    if (token === "") return { ok: false, error: "not_authed" };
    const asBot = world.workspaces.find(({ botToken }) => botToken === token);
    const asApp = world.workspaces.find(({ appToken }) => appToken === token);
    const workspace = method.app === true ? asApp : asBot;
    if (workspace === undefined) return { ok: false, error: asBot !== undefined || asApp !== undefined ? "not_allowed_token_type" : "invalid_auth" };
    if (workspace.refused !== undefined) return { ok: false, error: workspace.refused };
    const missing = method.scopes.find((scope) => !workspace.scopes.has(scope));
    if (missing !== undefined) return { ok: false, error: "missing_scope", needed: missing, provided: [...workspace.scopes].join(",") };
    const read = readArguments(method.args, given);
    if ("problem" in read) {
      far.violations.push(`${name}: ${read.problem}`);
      return { ok: false, error: "invalid_arguments", response_metadata: { messages: [read.problem] } };
    }
    const call: Call = {
      world,
      workspace,
      args: read.args,
      url: far.url,
      openSocket: () => sockets.ticket(token, far.url),
      posted: (room, post) => tell(room, post),
      fileUploaded: (id) => uploaded.has(id),
    };
    try {
      if (name === "chat.postEphemeral") far.whispers.push({ room: String(read.args.channel), user: String(read.args.user), text: String(read.args.text) });
      return { ok: true, ...method.run(call) };
    } catch (error) {
      if (error instanceof Refused) return { ok: false, error: error.error, ...error.more };
      throw error;
    }
  }

  function upload(id: string, body: Buffer, token: string | undefined, request: IncomingMessage, response: ServerResponse): void {
    const file = world.files.get(id);
    if (token !== undefined) far.strayTokens.push(`upload ${id}`);
    const type = String(request.headers["content-type"] ?? "");
    const data = type.startsWith("multipart/form-data") ? partOf(body, type) : body;
    if (file === undefined || file.data.length !== data.length) return void response.writeHead(400).end("no such upload, or of another length");
    file.data = data;
    uploaded.add(id);
    response.writeHead(200).end(`OK - ${data.length}`);
  }

  function download(path: string, token: string | undefined, response: ServerResponse): void {
    const file = world.files.get(path.split("/")[2] ?? "");
    const known = world.workspaces.some(({ botToken, scopes }) => botToken === token && scopes.has("files:read"));
    if (file === undefined || file.state === "gone") return void response.writeHead(404).end();
    // Who has no right is led to the page where people sign in, which answers 200.
    if (!known || file.state === "sign-in") return void response.writeHead(302, { location: `${far.url}/signin?redir=${encodeURIComponent(path)}` }).end();
    if (file.state === "elsewhere") return void response.writeHead(302, { location: "http://127.0.0.1:9/stolen" }).end();
    response.writeHead(200, { "content-type": file.mimetype, "content-length": file.data.length }).end(file.data);
  }

  const server = createServer((request, response) => {
    if (request.url?.startsWith("/signin"))
      return void response.writeHead(200, { "content-type": "text/html" }).end("<!DOCTYPE html><html><title>Sign in</title></html>");
    answer(request, response).catch((error) => response.headersSent || response.writeHead(500).end(String(error)));
  });
  server.on("upgrade", (request, socket, head) => {
    if (refusing) socket.destroy();
    else sockets.upgrade(request, socket, head);
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(far, { url, root: `${url}/api/` });
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function readBody(body: Buffer, type: string): Record<string, unknown> {
  if (body.length === 0) return {};
  if (type.startsWith("application/json")) return JSON.parse(body.toString()) as Record<string, unknown>;
  return Object.fromEntries(new URLSearchParams(body.toString()));
}

/** The file of a form with one part, as vendors' clients send it. */
function partOf(body: Buffer, type: string): Buffer {
  const boundary = /boundary=(\S+)/.exec(type)?.[1] ?? "";
  const from = body.indexOf("\r\n\r\n") + 4;
  return body.subarray(from, body.lastIndexOf(`\r\n--${boundary}--`));
}
