import { type Call, type Method, Refused } from "./call.ts";
import { page } from "./pages.ts";
import { type Arguments, blocksProblem } from "./shapes.ts";
import { fileWire, wireOf } from "./wire.ts";
import type { Block, Person, Post, Room } from "./world.ts";

const POST_CHARS = 40_000;
const UPDATE_CHARS = 4_000;
const MARKDOWN_CHARS = 12_000;

const text = (call: Call, name: string): string | undefined => call.args[name] as string | undefined;

function roomOf(call: Call, { member = true } = {}): Room {
  const room = call.world.room(call.args.channel);
  if (room === undefined || room.team !== call.workspace.team) throw new Refused("channel_not_found");
  if (member && !room.members.has(call.workspace.bot.id)) throw new Refused("not_in_channel");
  return room;
}

function postOf(room: Room, ts: unknown): Post {
  const post = room.posts.find((one) => one.ts === ts);
  if (post === undefined) throw new Refused("message_not_found");
  return post;
}

function ownPost(call: Call, room: Room): Post {
  const post = postOf(room, call.args.ts);
  if (post.user !== call.workspace.bot.id) throw new Refused("cant_update_message");
  return post;
}

function contentOf(call: Call, most: number): { text: string; blocks?: readonly Block[]; markdown?: string } {
  const markdown = text(call, "markdown_text");
  const blocks = call.args.blocks as readonly Block[] | undefined;
  const words = text(call, "text");
  if (markdown !== undefined && (blocks !== undefined || words !== undefined)) throw new Refused("markdown_text_conflict");
  if (markdown !== undefined && markdown.length > MARKDOWN_CHARS) throw new Refused("msg_too_long");
  const problem = blocks === undefined ? undefined : blocksProblem(blocks);
  if (problem !== undefined) throw new Refused(problem.error, { errors: [problem.detail], response_metadata: { messages: [problem.detail] } });
  if ((words ?? markdown ?? "").trim() === "" && (blocks ?? []).length === 0) throw new Refused("no_text");
  if ((words ?? "").length > most) throw new Refused("msg_too_long");
  return { text: words ?? "", ...(blocks === undefined || blocks.length === 0 ? {} : { blocks }), ...(markdown === undefined ? {} : { markdown }) };
}

function put(call: Call, room: Room, content: Partial<Post>): Post {
  if (room.archived) throw new Refused("is_archived");
  const { bot, appId } = call.workspace;
  const threadTs = text(call, "thread_ts");
  if (threadTs !== undefined && !room.posts.some(({ ts }) => ts === threadTs)) throw new Refused("thread_not_found");
  const post: Post = {
    ts: call.world.ts(),
    user: bot.id,
    botId: bot.botId as string,
    appId,
    text: "",
    mrkdwn: true,
    files: [],
    reactions: new Map(),
    edits: 0,
    ...(threadTs === undefined ? {} : { threadTs }),
    ...content,
  };
  room.posts.push(post);
  call.posted(room, post);
  return post;
}

const HISTORY: Arguments = {
  channel: "!string",
  oldest: "string",
  latest: "string",
  inclusive: "boolean",
  limit: "number",
  cursor: "string",
  include_all_metadata: "boolean",
};
const CONTENT: Arguments = { channel: "!string", text: "string", blocks: "json", markdown_text: "string" };
const WRITE = ["chat:write"];
const HISTORY_SCOPES: Readonly<Record<Room["kind"], string>> = { channel: "channels:history", group: "groups:history", im: "im:history", mpim: "mpim:history" };

function needHistory(call: Call, room: Room): void {
  const needed = HISTORY_SCOPES[room.kind];
  if (!call.workspace.scopes.has(needed)) throw new Refused("missing_scope", { needed, provided: [...call.workspace.scopes].join(",") });
}

const stream = (call: Call): Post => {
  const post = ownPost(call, roomOf(call));
  if (post.streaming !== true) throw new Refused("message_not_in_streaming_state");
  return post;
};

/** What is said comes as text or in chunks of it. */
function append(call: Call, post: Post): void {
  const chunks = (call.args.chunks ?? []) as readonly { readonly type: string; readonly text?: string }[];
  if (chunks.some(({ type }) => type !== "markdown_text")) throw new Refused("invalid_chunks");
  const more = [text(call, "markdown_text") ?? "", ...chunks.map((chunk) => chunk.text ?? "")].join("");
  if (more.length > MARKDOWN_CHARS) throw new Refused("msg_too_long");
  post.markdown = (post.markdown ?? "") + more;
}

/** The methods of the Web API that this server has. */
export const METHODS: Readonly<Record<string, Method>> = {
  "auth.test": {
    args: {},
    scopes: [],
    run: ({ workspace, url }) => ({
      url: `${url}/`,
      team: workspace.name,
      user: workspace.bot.name,
      team_id: workspace.team,
      user_id: workspace.bot.id,
      bot_id: workspace.bot.botId,
      is_enterprise_install: false,
    }),
  },
  "apps.connections.open": {
    args: {},
    scopes: [],
    app: true,
    run(call) {
      if (!call.workspace.socketMode) throw new Refused("socket_mode_not_enabled");
      return { url: call.openSocket() };
    },
  },
  "bots.info": {
    args: { bot: "!string" },
    scopes: ["users:read"],
    run({ workspace, args }) {
      if (args.bot !== workspace.bot.botId) throw new Refused("bot_not_found");
      return { bot: { id: workspace.bot.botId, app_id: workspace.appId, user_id: workspace.bot.id, name: workspace.bot.name } };
    },
  },
  "users.info": {
    args: { user: "!string" },
    scopes: ["users:read"],
    run({ world, args }) {
      const person = world.people.get(String(args.user));
      if (person === undefined) throw new Refused("user_not_found");
      const { id, name, realName, team, botId } = person as Person;
      return { user: { id, team_id: team, name, real_name: realName, is_bot: botId !== undefined, profile: { display_name: name, real_name: realName } } };
    },
  },
  "users.conversations": {
    args: { types: "string", limit: "number", cursor: "string", exclude_archived: "boolean", user: "string" },
    scopes: ["channels:read", "groups:read", "im:read", "mpim:read"],
    run({ world, workspace, args }) {
      const kinds = String(args.types ?? "public_channel").split(",");
      const named: Readonly<Record<string, Room["kind"]>> = { public_channel: "channel", private_channel: "group", im: "im", mpim: "mpim" };
      const wanted = new Set(kinds.map((kind) => named[kind]));
      const rooms = [...world.rooms.values()].filter(({ team, kind, members }) => team === workspace.team && wanted.has(kind) && members.has(workspace.bot.id));
      return {
        channels: rooms.map(({ id, name, kind }) => ({ id, ...(kind === "im" ? { is_im: true } : { name }), is_member: true })),
        response_metadata: { next_cursor: "" },
      };
    },
  },
  "conversations.history": {
    args: HISTORY,
    scopes: [],
    run(call) {
      const room = roomOf(call);
      needHistory(call, room);
      // Answers in a thread stand in their thread alone.
      return page(
        call,
        room,
        room.posts.filter(({ threadTs, subtype }) => threadTs === undefined || subtype === "thread_broadcast"),
        true,
      );
    },
  },
  "conversations.replies": {
    args: { ...HISTORY, ts: "!string" },
    scopes: [],
    run(call) {
      const room = roomOf(call);
      needHistory(call, room);
      const parent = room.posts.find(({ ts }) => ts === call.args.ts);
      if (parent === undefined) throw new Refused("thread_not_found");
      return page(call, room, [parent, ...room.posts.filter(({ threadTs }) => threadTs === parent.ts)], false);
    },
  },
  "chat.postMessage": {
    args: { ...CONTENT, thread_ts: "string", mrkdwn: "boolean", unfurl_links: "boolean", unfurl_media: "boolean", link_names: "boolean", metadata: "json" },
    scopes: WRITE,
    run(call) {
      const room = roomOf(call);
      const { metadata, mrkdwn = true } = call.args as { metadata?: Post["metadata"]; mrkdwn?: boolean };
      if (metadata !== undefined && (typeof metadata.event_type !== "string" || typeof metadata.event_payload !== "object"))
        throw new Refused("invalid_metadata_format");
      const post = put(call, room, { ...contentOf(call, POST_CHARS), mrkdwn, ...(metadata === undefined ? {} : { metadata }) });
      return { channel: room.id, ts: post.ts, message: wireOf(post, call.url, room) };
    },
  },
  "chat.update": {
    args: { ...CONTENT, ts: "!string", link_names: "boolean", parse: "string", metadata: "json" },
    scopes: WRITE,
    run(call) {
      const room = roomOf(call);
      const post = ownPost(call, room);
      if (post.streaming) throw new Refused("streaming_state_conflict");
      const { text: words, blocks, markdown } = contentOf(call, UPDATE_CHARS);
      post.text = words;
      // Blocks that are not mentioned stay; an empty list takes them away.
      if (call.args.blocks !== undefined) {
        if (blocks === undefined) delete post.blocks;
        else post.blocks = blocks;
      }
      if (markdown === undefined) delete post.markdown;
      else post.markdown = markdown;
      post.edits += 1;
      return { channel: room.id, ts: post.ts, text: post.text };
    },
  },
  "chat.delete": {
    args: { channel: "!string", ts: "!string" },
    scopes: WRITE,
    run(call) {
      const room = roomOf(call);
      const post = ownPost(call, room);
      room.posts.splice(room.posts.indexOf(post), 1);
      return { channel: room.id, ts: post.ts };
    },
  },
  "chat.postEphemeral": {
    args: { channel: "!string", user: "!string", text: "!string", thread_ts: "string" },
    scopes: WRITE,
    run(call) {
      const room = roomOf(call);
      if (!room.members.has(String(call.args.user))) throw new Refused("user_not_in_channel");
      return { message_ts: call.world.ts() };
    },
  },
  "chat.startStream": {
    args: { channel: "!string", thread_ts: "string", markdown_text: "string", chunks: "json", recipient_user_id: "string", recipient_team_id: "string" },
    scopes: WRITE,
    run(call) {
      const room = roomOf(call);
      if (room.kind === "im" && call.args.thread_ts === undefined)
        throw new Refused("invalid_arguments", { response_metadata: { messages: ["[ERROR] thread_ts"] } });
      if (room.kind !== "im" && call.args.recipient_user_id === undefined) throw new Refused("missing_recipient_user_id");
      if (room.kind !== "im" && call.args.recipient_team_id === undefined) throw new Refused("missing_recipient_team_id");
      const post = put(call, room, { streaming: true, markdown: "" });
      append(call, post);
      return { channel: room.id, ts: post.ts };
    },
  },
  "chat.appendStream": {
    args: { channel: "!string", ts: "!string", markdown_text: "string", chunks: "json" },
    scopes: WRITE,
    run(call) {
      const post = stream(call);
      append(call, post);
      post.edits += 1;
      return { channel: call.args.channel, ts: post.ts };
    },
  },
  "chat.stopStream": {
    args: { channel: "!string", ts: "!string", markdown_text: "string", chunks: "json", blocks: "json", metadata: "json" },
    scopes: WRITE,
    run(call) {
      const post = stream(call);
      append(call, post);
      const { blocks } = call.args;
      if (blocks !== undefined) {
        const problem = blocksProblem(blocks);
        if (problem !== undefined) throw new Refused(problem.error, { response_metadata: { messages: [problem.detail] } });
        post.blocks = blocks as readonly Block[];
      }
      delete post.streaming;
      return { channel: call.args.channel, ts: post.ts };
    },
  },
  "reactions.add": {
    args: { channel: "!string", timestamp: "!string", name: "!string" },
    scopes: ["reactions:write"],
    run(call) {
      const room = roomOf(call);
      const post = postOf(room, call.args.timestamp);
      const name = String(call.args.name);
      if (!/^[a-z0-9_+'-]+$/.test(name)) throw new Refused("invalid_name");
      const by = post.reactions.get(name) ?? new Set<string>();
      if (by.has(call.workspace.bot.id)) throw new Refused("already_reacted");
      post.reactions.set(name, by.add(call.workspace.bot.id));
      return {};
    },
  },
  "files.info": {
    args: { file: "!string" },
    scopes: ["files:read"],
    run({ world, args, url }) {
      const file = world.files.get(String(args.file));
      if (file === undefined || file.state === "gone") throw new Refused("file_not_found");
      return { file: fileWire(file, url) };
    },
  },
  "files.getUploadURLExternal": {
    args: { filename: "!string", length: "!number", alt_txt: "string", snippet_type: "string" },
    scopes: ["files:write"],
    run({ world, workspace, args, url }) {
      if (Number(args.length) === 0) throw new Refused("invalid_arguments");
      const id = world.id("F");
      const name = String(args.filename);
      const data = new Uint8Array(Number(args.length));
      world.files.set(id, { id, team: workspace.team, name, mimetype: typeOf(name), data, user: workspace.bot.id, state: "there" });
      return { upload_url: `${url}/upload/v1/${id}`, file_id: id };
    },
  },
  "files.completeUploadExternal": {
    args: { files: "!json", channel_id: "string", thread_ts: "string", initial_comment: "string" },
    scopes: ["files:write"],
    run(call) {
      const { files, channel_id } = call.args as { files: readonly { id: string; title?: string }[]; channel_id?: string };
      const found = files.map(({ id, title }) => {
        const file = call.world.files.get(id);
        if (file === undefined || !call.fileUploaded(id)) throw new Refused("file_not_found");
        if (title !== undefined) file.title = title;
        return file;
      });
      const inRoom = { ...call, args: { ...call.args, channel: channel_id } };
      if (channel_id !== undefined) put(inRoom, roomOf(inRoom), { files: found, text: text(call, "initial_comment") ?? "" });
      return { files: found.map((file) => fileWire(file, call.url)) };
    },
  },
};

function typeOf(name: string): string {
  const known: Readonly<Record<string, string>> = { png: "image/png", jpg: "image/jpeg", gif: "image/gif", txt: "text/plain", pdf: "application/pdf" };
  return known[name.split(".").at(-1) ?? ""] ?? "application/octet-stream";
}
