import { createHmac, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGateway, type Gateway, INTENT } from "./gateway.ts";
import { guildPayload, messagePayload, placePayload, userPayload } from "./payloads.ts";
import { createRoutes } from "./routes.ts";
import { type Answer, type Call, readCall, refusal, writeAnswer } from "./wire.ts";
import { type Guild, type Place, type Post, type StoredFile, type User, World } from "./world.ts";

/** A refusal as the platform words it. `cut` breaks the connection after the effect, `refuse` before it, `hang` never answers. */
export type RestFault = Answer | "cut" | "refuse" | "hang";

/** What somebody writes. */
export interface Said {
  readonly place: string;
  readonly from: string;
  readonly text: string;
  readonly files?: readonly { readonly name: string; readonly type?: string; readonly data: Uint8Array }[];
  readonly replyTo?: string;
  /** A note of the platform itself, such as 7: somebody joined. */
  readonly type?: number;
  /** Roles of the author in the server. */
  readonly roles?: readonly string[];
  /** The gateway tells nobody: only the history has it. */
  readonly silent?: boolean;
}

/** A strict far end of the guild chat: REST and gateway, as a server that any client can drive. */
export interface GuildFarEnd {
  /** What a client is given as the root of the API, without its version. */
  readonly root: string;
  readonly origin: string;
  token: string;
  readonly world: World;
  readonly gateway: Gateway;
  readonly bot: User;
  readonly owner: User;
  readonly calls: Call[];
  /** Asked for each call; what it returns is the answer instead. */
  fault: (call: Call) => RestFault | undefined;
  /** Privileged intents that the application has: 1 << 18 is the content of messages. */
  flags: number;
  sessionsLeft: number;
  /** How long the address of a file works, in milliseconds. */
  fileMs: number;
  /** Messages that one place takes in each 5 s; undefined: no limit. */
  burst: number | undefined;
  readonly typed: string[];
  addGuild(name: string): { readonly guild: Guild; readonly place: Place };
  addThread(parent: Place, name: string): Place;
  say(said: Said): Post;
  /** Somebody presses a button of a message. Answers with what becomes of it. */
  press(press: { message: string; data: string; from: string; place?: string }): {
    readonly id: string;
    readonly shown: readonly string[];
    readonly deferred: boolean;
  };
  /** Somebody uses the command `/ask`. */
  ask(ask: { place: string; from: string; text: string; name?: string }): { readonly id: string; readonly shown: readonly string[] };
  close(): Promise<void>;
}

const BURST_MS = 5_000;

/** Starts it on a port of its own. */
export async function startGuildFarEnd({ token = "bot.of.tests" }: { token?: string } = {}): Promise<GuildFarEnd> {
  const world = new World();
  const bot = world.addUser("helper", { bot: true });
  const owner = world.addUser("ada");
  const files = new Map<string, StoredFile>();
  const secret = randomBytes(16);
  const signature = (text: string) => createHmac("sha256", secret).update(text).digest("hex").slice(0, 16);
  const sent = new Map<string, number[]>();

  const server = createServer((request, response) => {
    serve(request, response).catch((error) => writeAnswer(response, { status: 500, body: { code: 0, message: String(error) } }));
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const addressOf = (id: string, name: string) => {
    const until = String(Date.now() + far.fileMs);
    return `${origin}/attachments/${id}/${encodeURIComponent(name)}?ex=${until}&hm=${signature(id + until)}`;
  };
  const intentOf = (place: string) => (world.places.get(place)?.type === 1 ? INTENT.directMessages : INTENT.guildMessages);
  const tellMessage = (event: string, post: Post) => {
    const guild = world.places.get(post.place)?.guild;
    const placeless = event === "MESSAGE_DELETE";
    gateway.tell(event, intentOf(post.place), (intents) =>
      placeless
        ? { id: post.id, channel_id: post.place, ...(guild === undefined ? {} : { guild_id: guild }) }
        : {
            ...messagePayload(world, post, { who: bot.id, content: (intents & INTENT.messageContent) !== 0, addressOf }),
            ...(guild === undefined ? {} : { guild_id: guild, member: memberOf(post.roles) }),
          },
    );
  };
  const memberOf = (roles: readonly string[] = []) => ({
    roles,
    nick: null,
    avatar: null,
    joined_at: "2026-01-01T00:00:00+00:00",
    deaf: false,
    mute: false,
    flags: 0,
    premium_since: null,
    pending: false,
  });

  const routes = createRoutes({
    world,
    bot: () => bot,
    owner: () => owner,
    flags: () => far.flags,
    gatewayUrl: () => origin.replace("http", "ws"),
    addressOf,
    keep: (file) => void files.set(file.id, file),
    changed: tellMessage,
    typing: (place) => void far.typed.push(place),
    sessionsLeft: () => far.sessionsLeft,
  });

  /** The limit of one place, told in headers as the platform does. */
  function limited(call: Call): { readonly headers: Record<string, string>; readonly answer?: Answer } {
    const [, place = ""] = /^\/channels\/(\d+)\/messages$/.exec(call.method === "POST" ? call.path : "") ?? [];
    const common = { "x-ratelimit-bucket": "far-end", "x-ratelimit-limit": String(far.burst ?? 1_000) };
    if (place === "" || far.burst === undefined) return { headers: { ...common, "x-ratelimit-remaining": "999", "x-ratelimit-reset-after": "1.000" } };
    const now = Date.now();
    const recent = (sent.get(place) ?? []).filter((at) => at > now - BURST_MS);
    const resetMs = recent.length === 0 ? BURST_MS : BURST_MS - (now - (recent[0] as number));
    const reset = (resetMs / 1_000).toFixed(3);
    if (recent.length >= far.burst) {
      const headers = {
        ...common,
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset-after": reset,
        "x-ratelimit-scope": "user",
        "retry-after": String(Math.ceil(resetMs / 1_000)),
      };
      return { headers, answer: tooMany(resetMs / 1_000) };
    }
    sent.set(place, [...recent, now]);
    return { headers: { ...common, "x-ratelimit-remaining": String(far.burst - recent.length - 1), "x-ratelimit-reset-after": reset } };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!gateway.open) return void request.socket.destroy();
    if (request.url?.startsWith("/attachments/") === true) return download(request, response);
    const call = await readCall(request);
    if ("status" in call) return writeAnswer(response, call);
    if (!/^\/api\/v10\//.test(request.url ?? "")) return writeAnswer(response, refusal(404, 0, "404: Not Found"));
    far.calls.push(call);
    const open = call.path.startsWith("/interactions/") || call.path.startsWith("/webhooks/");
    if (!open && call.headers.authorization !== `Bot ${far.token}`) return writeAnswer(response, refusal(401, 0, "401: Unauthorized"));
    if (!/^DiscordBot \(.+\)/.test(call.headers["user-agent"] ?? ""))
      return writeAnswer(response, refusal(403, 40_333, "A user agent that names itself is needed."));
    const fault = far.fault(call);
    if (fault === "hang") return;
    if (fault === "refuse") return void request.socket.destroy();
    if (fault !== undefined && fault !== "cut") return writeAnswer(response, fault);
    const { headers, answer: over } = limited(call);
    const answer = over ?? routes(call) ?? refusal(404, 0, "404: Not Found");
    if (fault === "cut") return void request.socket.destroy();
    writeAnswer(response, { ...answer, headers: { ...headers, ...answer.headers } });
  }

  function download(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "", origin);
    const file = files.get(url.pathname.split("/")[2] ?? "");
    const until = url.searchParams.get("ex") ?? "";
    if (request.headers.authorization !== undefined) {
      writeAnswer(response, { status: 400, body: { message: "no token belongs here" } });
      return;
    }
    if (file === undefined || url.searchParams.get("hm") !== signature(file.id + until) || Number(until) < Date.now()) {
      response.writeHead(404, { "content-type": "text/plain" });
      response.end("This content is no longer available.");
      return;
    }
    response.writeHead(200, { "content-type": file.type ?? "application/octet-stream" });
    response.end(file.data);
  }

  const gateway = createGateway({
    server,
    token: () => far.token,
    allowed: () => ((far.flags & ((1 << 18) | (1 << 19))) !== 0 ? INTENT.messageContent : 0),
    ready: (session_id, resume_gateway_url) => ({
      v: 10,
      user: userPayload(bot),
      guilds: [...world.guilds.keys()].map((id) => ({ id, unavailable: true })),
      session_id,
      resume_gateway_url,
      session_type: "normal",
      private_channels: [],
      user_settings: {},
      relationships: [],
      presences: [],
      shard: [0, 1],
      application: { id: bot.id, flags: far.flags },
    }),
    guilds: () => [...world.guilds.values()].map((guild) => guildPayload(world, guild, bot.id)),
  });

  const interact = (type: 2 | 3, place: string, from: string, data: object, message?: Post) => {
    const interaction = { id: world.nextId(), token: randomBytes(24).toString("base64url"), at: Date.now(), shown: [], answered: false, deferred: false };
    world.interactions.set(interaction.id, interaction);
    const { guild } = world.places.get(place) as Place;
    const user = userPayload(world.users.get(from) as User);
    gateway.tell("INTERACTION_CREATE", 0, () => ({
      id: interaction.id,
      application_id: bot.id,
      type,
      token: interaction.token,
      version: 1,
      channel_id: place,
      channel: placePayload(world, world.places.get(place) as Place, bot.id),
      data,
      locale: "en-US",
      entitlements: [],
      authorizing_integration_owners: {},
      attachment_size_limit: 10_485_760,
      context: guild === undefined ? 1 : 0,
      app_permissions: "0",
      ...(guild === undefined
        ? { user }
        : { guild_id: guild, guild_locale: "en-US", member: { ...memberOf(world.roles.get(`${guild}/${from}`)), permissions: "0", user } }),
      ...(message === undefined ? {} : { message: messagePayload(world, message, { who: bot.id, content: true, addressOf }) }),
    }));
    return interaction;
  };

  const far: GuildFarEnd = {
    root: `${origin}/api`,
    origin,
    token,
    world,
    gateway,
    bot,
    owner,
    calls: [],
    fault: () => undefined,
    flags: 1 << 19,
    sessionsLeft: 1_000,
    fileMs: 86_400_000,
    burst: undefined,
    typed: [],
    addGuild(name) {
      const guild = world.addGuild(name);
      return { guild, place: world.addPlace({ type: 0, name: "general", guild: guild.id }) };
    },
    addThread(parent, name) {
      const thread = world.addPlace({ type: 11, name, parent: parent.id, ...(parent.guild === undefined ? {} : { guild: parent.guild }) });
      gateway.tell("THREAD_CREATE", INTENT.guilds, () => ({ ...placePayload(world, thread, bot.id), newly_created: true }));
      return thread;
    },
    say({ place, from, text, files: given = [], replyTo, type = 0, roles = [], silent = false }) {
      const stored = given.map((file): StoredFile => ({ id: world.nextId(), ...file }));
      for (const file of stored) files.set(file.id, file);
      const referenced = replyTo === undefined ? undefined : world.byId.get(replyTo);
      const post = world.post({
        place,
        author: from,
        content: text,
        files: stored,
        components: [],
        type,
        // Who answers a message calls its author, without a word of it in the text.
        calls: referenced === undefined ? [] : [referenced.author],
        roles,
        ...(replyTo === undefined ? {} : { replyTo }),
      });
      if (!silent) tellMessage("MESSAGE_CREATE", post);
      return post;
    },
    press({ message, data, from, place }) {
      const post = world.byId.get(message) as Post;
      return interact(3, place ?? post.place, from, { custom_id: data, component_type: 2 }, post);
    },
    ask: ({ place, from, text, name = "ask" }) =>
      interact(2, place, from, { id: String(world.commands.get(name)?.id ?? "1"), name, type: 1, options: [{ name: "text", type: 3, value: text }] }),
    async close() {
      gateway.end();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return far;
}

/** 429, as the platform words it. */
export const tooMany = (seconds: number, global = false): Answer => ({
  status: 429,
  body: { message: "You are being rate limited.", code: 0, retry_after: seconds, global },
  headers: {
    "retry-after": String(Math.ceil(seconds)),
    ...(global ? { "x-ratelimit-global": "true", "x-ratelimit-scope": "global" } : { "x-ratelimit-scope": "user" }),
  },
});
