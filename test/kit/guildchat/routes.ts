import { guildPayload, messagePayload, placePayload, userPayload } from "./payloads.ts";
import { type Answer, badForm, type Call, formProblem, refusal } from "./wire.ts";
import type { Guild, Place, Post, StoredFile, User, World } from "./world.ts";

/** What the routes stand on. */
export interface RouteDeps {
  readonly world: World;
  readonly bot: () => User;
  /** Flags of the application: which privileged intents it has. */
  flags(): number;
  /** The person who made the application. */
  owner(): User;
  gatewayUrl(): string;
  addressOf(file: string, name: string): string;
  keep(file: StoredFile): void;
  /** A message of the bot was made, changed or taken away. */
  changed(event: "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE", post: Post): void;
  /** Somebody is shown that the bot types. */
  typing(place: string): void;
  sessionsLeft(): number;
}

type Handler = (call: Call, ids: readonly string[]) => Answer;

const UNKNOWN_CHANNEL = refusal(404, 10_003, "Unknown Channel");
const UNKNOWN_MESSAGE = refusal(404, 10_008, "Unknown Message");
const NO_ACCESS = refusal(403, 50_001, "Missing Access");
const EMPTY = refusal(400, 50_006, "Cannot send an empty message");
/** An interaction must be answered within this time, in milliseconds. */
const ANSWER_MS = 3_000;

/** Makes the answers of the API. Undefined: there is no such call. */
export function createRoutes(deps: RouteDeps): (call: Call) => Answer | undefined {
  const { world } = deps;
  const me = () => deps.bot().id;
  const ok = (body: unknown): Answer => ({ status: 200, body });
  const shown = (post: Post) => messagePayload(world, post, { who: me(), content: true, addressOf: deps.addressOf });
  const seen = (id: string | undefined): Place | Answer => {
    const place = world.places.get(id ?? "");
    if (place === undefined) return UNKNOWN_CHANNEL;
    if (place.hidden || (place.type === 1 && !place.people?.includes(me()))) return NO_ACCESS;
    return place;
  };
  const isAnswer = (found: Place | Answer): found is Answer => "status" in found;
  /** The place and one of its messages. */
  const messageAt = (place: string | undefined, id: string | undefined): Post | Answer => {
    const found = seen(place);
    if (isAnswer(found)) return found;
    const post = world.byId.get(id ?? "");
    return post === undefined || post.place !== place ? UNKNOWN_MESSAGE : post;
  };
  const nonces = new Map<string, { readonly post: Post; readonly at: number }>();

  function filesOf(call: Call): StoredFile[] | Answer {
    const listed = (call.body?.attachments ?? []) as { id: string | number; filename?: string }[];
    if (listed.length !== call.files.length) return badForm("attachments", "INVALID_ATTACHMENT", "Every file has its entry.");
    const files: StoredFile[] = [];
    for (const { field, name, type, data } of call.files) {
      const index = /^files\[(\d+)\]$/.exec(field)?.[1];
      const entry = listed.find(({ id }) => String(id) === index);
      if (index === undefined || entry === undefined) return badForm("attachments", "INVALID_ATTACHMENT", `The file ${field} has no entry.`);
      if (data.byteLength > 10 * 1_048_576) return refusal(413, 40_005, "Request entity too large");
      const file = { id: world.nextId(), name: entry.filename ?? name, type: type || "application/octet-stream", data };
      deps.keep(file);
      files.push(file);
    }
    return files;
  }

  function send(call: Call, [id]: readonly string[]): Answer {
    const place = seen(id);
    if (isAnswer(place)) return place;
    const wrong = formProblem("send", call.body);
    if (wrong !== undefined) return wrong;
    const body = (call.body ?? {}) as { content?: string; nonce?: string | number; enforce_nonce?: boolean; components?: unknown[] };
    const { message_reference: reference, allowed_mentions: allowed } = (call.body ?? {}) as {
      message_reference?: { message_id: string; fail_if_not_exists?: boolean };
      allowed_mentions?: { parse?: string[]; users?: string[]; replied_user?: boolean };
    };
    const nonce = body.nonce === undefined ? undefined : String(body.nonce);
    const known = nonce === undefined || body.enforce_nonce !== true ? undefined : nonces.get(`${id}/${nonce}`);
    if (known !== undefined && Date.now() - known.at < 300_000) return ok(shown(known.post));
    const files = filesOf(call);
    if (!Array.isArray(files)) return files as Answer;
    const content = (body.content ?? "").trim();
    if (content === "" && files.length === 0) return EMPTY;
    const referenced = reference === undefined ? undefined : world.byId.get(reference.message_id);
    if (reference !== undefined && referenced === undefined && reference.fail_if_not_exists !== false)
      return badForm("message_reference", "MESSAGE_REFERENCE_UNKNOWN_MESSAGE", "Unknown message");
    const named = [...content.matchAll(/<@!?(\d+)>/g)].map(([, one]) => one as string);
    const calls = [
      ...named.filter((one) => allowed === undefined || allowed.parse?.includes("users") || allowed.users?.includes(one)),
      ...(referenced !== undefined && allowed?.replied_user !== false ? [referenced.author] : []),
    ];
    const post = world.post({
      place: place.id,
      author: me(),
      content,
      files,
      components: body.components ?? [],
      type: 0,
      calls,
      roles: [],
      ...(referenced === undefined ? {} : { replyTo: referenced.id }),
      ...(nonce === undefined ? {} : { nonce }),
    });
    if (nonce !== undefined) nonces.set(`${id}/${nonce}`, { post, at: Date.now() });
    deps.changed("MESSAGE_CREATE", post);
    return ok(shown(post));
  }

  function edit(call: Call, [id, message]: readonly string[]): Answer {
    const post = messageAt(id, message);
    if ("status" in post) return post;
    const wrong = formProblem("edit", call.body);
    if (wrong !== undefined) return wrong;
    if (post.author !== me()) return refusal(403, 50_005, "Cannot edit a message authored by another user");
    const { content, components } = (call.body ?? {}) as { content?: string; components?: unknown[] };
    if (content !== undefined) {
      if (content.trim() === "" && post.files.length === 0) return EMPTY;
      post.before.push(post.content);
      post.content = content.trim();
    }
    if (components !== undefined) post.components = components;
    deps.changed("MESSAGE_UPDATE", post);
    return ok(shown(post));
  }

  function history(call: Call, [id]: readonly string[]): Answer {
    const place = seen(id);
    if (isAnswer(place)) return place;
    const unknown = [...call.query.keys()].find((key) => !["after", "before", "around", "limit"].includes(key));
    if (unknown !== undefined) return badForm(unknown, "UNKNOWN_FIELD", "There is no such parameter.");
    const limit = Number(call.query.get("limit") ?? 50);
    if (!Number.isInteger(limit) || limit < 1 || limit > 100) return badForm("limit", "NUMBER_TYPE_MAX", "int value should be less than or equal to 100.");
    const after = call.query.get("after");
    if (after !== null && !/^\d+$/.test(after)) return badForm("after", "NUMBER_TYPE_COERCE", "Value is not snowflake.");
    const posts = world.at(place.id);
    const found = after === null ? posts.slice(-limit) : posts.filter((post) => BigInt(post.id) > BigInt(after)).slice(0, limit);
    // Newest first, whatever was asked for.
    return ok(found.reverse().map(shown));
  }

  const interactionAt = (id: string | undefined, token: string | undefined) => {
    const found = world.interactions.get(id ?? "");
    return found?.token === token ? found : undefined;
  };
  const byToken = (token: string | undefined) => [...world.interactions.values()].find((one) => one.token === token);

  function answerInteraction(call: Call, [id, token]: readonly string[]): Answer {
    const interaction = interactionAt(id, token);
    if (interaction === undefined || Date.now() - interaction.at > ANSWER_MS) return refusal(404, 10_062, "Unknown interaction");
    if (interaction.answered) return refusal(400, 40_060, "Interaction has already been acknowledged.");
    const wrong = formProblem("reply", call.body);
    if (wrong !== undefined) return wrong;
    const { type, data = {} } = call.body as { type: number; data?: { content?: string; flags?: number } };
    if (type === 4 && (data.content ?? "") === "") return EMPTY;
    interaction.answered = true;
    interaction.deferred = type === 5 || type === 6;
    if (type === 4) interaction.shown.push(`${((data.flags ?? 0) & 64) !== 0 ? "ephemeral: " : ""}${data.content}`);
    return { status: 204 };
  }

  function followUp(call: Call, [, token]: readonly string[]): Answer {
    const interaction = byToken(token);
    if (interaction === undefined) return refusal(404, 10_015, "Unknown Webhook");
    if (!interaction.answered) return refusal(404, 10_008, "Unknown Message");
    const wrong = formProblem("followUp", call.body);
    if (wrong !== undefined) return wrong;
    const { content = "", flags = 0 } = call.body as { content?: string; flags?: number };
    if (content === "") return EMPTY;
    interaction.shown.push(`${(flags & 64) !== 0 ? "ephemeral: " : ""}${content}`);
    return ok({ id: world.nextId(), content });
  }

  const table: readonly (readonly [method: string, path: RegExp, handler: Handler])[] = [
    [
      "GET",
      /^\/gateway\/bot$/,
      () =>
        ok({
          url: deps.gatewayUrl(),
          shards: 1,
          session_start_limit: { total: 1_000, remaining: deps.sessionsLeft(), reset_after: 14_400_000, max_concurrency: 1 },
        }),
    ],
    ["GET", /^\/gateway$/, () => ok({ url: deps.gatewayUrl() })],
    ["GET", /^\/users\/@me$/, () => ok({ ...userPayload(deps.bot()), verified: true, mfa_enabled: true, email: null, locale: "en-US" })],
    [
      "GET",
      /^\/(?:applications\/@me|oauth2\/applications\/@me)$/,
      () =>
        ok({
          id: me(),
          name: deps.bot().username,
          description: "",
          icon: null,
          bot_public: true,
          bot_require_code_grant: false,
          flags: deps.flags(),
          owner: userPayload(deps.owner()),
          team: null,
          summary: "",
          verify_key: "",
          type: null,
          flags_new: String(deps.flags()),
          redirect_uris: [],
          interactions_endpoint_url: null,
          role_connections_verification_url: null,
          approximate_guild_count: world.guilds.size,
          approximate_user_install_count: 0,
          approximate_user_authorization_count: 0,
          explicit_content_filter: 0,
          eligible_oauth2_scopes: [],
        }),
    ],
    [
      "GET",
      /^\/users\/@me\/guilds$/,
      () => ok([...world.guilds.values()].map(({ id, name }) => ({ id, name, icon: null, banner: null, owner: false, permissions: "0", features: [] }))),
    ],
    [
      "POST",
      /^\/users\/@me\/channels$/,
      (call) => {
        const wrong = formProblem("direct", call.body);
        if (wrong !== undefined) return wrong;
        const person = world.users.get(String(call.body?.recipient_id));
        if (person === undefined) return refusal(404, 10_013, "Unknown User");
        if (person.bot) return refusal(400, 50_007, "Cannot send messages to this user");
        return ok(placePayload(world, world.direct(me(), person.id), me()));
      },
    ],
    [
      "GET",
      /^\/guilds\/(\d+)\/channels$/,
      (_call, [id]) =>
        world.guilds.has(id ?? "")
          ? ok((guildPayload(world, world.guilds.get(id ?? "") as Guild, me()) as { channels: unknown }).channels)
          : refusal(404, 10_004, "Unknown Guild"),
    ],
    [
      "GET",
      /^\/guilds\/(\d+)\/threads\/active$/,
      (_call, [id]) =>
        world.guilds.has(id ?? "")
          ? ok({ threads: (guildPayload(world, world.guilds.get(id ?? "") as Guild, me()) as { threads: unknown }).threads, members: [], has_more: false })
          : refusal(404, 10_004, "Unknown Guild"),
    ],
    [
      "GET",
      /^\/channels\/(\d+)$/,
      (_call, [id]) => {
        const place = seen(id);
        return isAnswer(place) ? place : ok(placePayload(world, place, me()));
      },
    ],
    ["GET", /^\/channels\/(\d+)\/messages$/, history],
    [
      "GET",
      /^\/channels\/(\d+)\/messages\/(\d+)$/,
      (_call, [id, message]) => {
        const post = messageAt(id, message);
        return "status" in post ? post : ok(shown(post));
      },
    ],
    ["POST", /^\/channels\/(\d+)\/messages$/, send],
    ["PATCH", /^\/channels\/(\d+)\/messages\/(\d+)$/, edit],
    [
      "DELETE",
      /^\/channels\/(\d+)\/messages\/(\d+)$/,
      (_call, [id, message]) => {
        const post = messageAt(id, message);
        if ("status" in post) return post;
        if (post.author !== me()) return refusal(403, 50_013, "Missing Permissions");
        world.remove(post);
        deps.changed("MESSAGE_DELETE", post);
        return { status: 204 };
      },
    ],
    [
      "PUT",
      /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/,
      (_call, [id, message, emoji]) => {
        const post = messageAt(id, message);
        if ("status" in post) return post;
        if (!/\p{Emoji}/u.test(decodeURIComponent(emoji ?? ""))) return refusal(400, 10_014, "Unknown Emoji");
        post.reactions.push(decodeURIComponent(emoji as string));
        return { status: 204 };
      },
    ],
    [
      "POST",
      /^\/channels\/(\d+)\/typing$/,
      (_call, [id]) => {
        const place = seen(id);
        if (isAnswer(place)) return place;
        deps.typing(place.id);
        return { status: 204 };
      },
    ],
    [
      "POST",
      /^\/applications\/(\d+)\/commands$/,
      (call, [id]) => {
        if (id !== me()) return NO_ACCESS;
        const wrong = formProblem("command", call.body);
        if (wrong !== undefined) return wrong;
        const name = String(call.body?.name);
        const made = { id: world.nextId(), application_id: id, version: world.nextId(), type: 1, default_member_permissions: null, ...call.body };
        const status = world.commands.has(name) ? 200 : 201;
        world.commands.set(name, made);
        return { status, body: made };
      },
    ],
    ["POST", /^\/interactions\/(\d+)\/([\w-]+)\/callback$/, answerInteraction],
    ["POST", /^\/webhooks\/(\d+)\/([\w-]+)$/, followUp],
  ];

  return (call) => {
    for (const [method, path, handler] of table) {
      const ids = path.exec(call.path);
      if (method === call.method && ids !== null) return handler(call, ids.slice(1));
    }
    return undefined;
  };
}
