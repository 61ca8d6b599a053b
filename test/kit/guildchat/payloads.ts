import type { Guild, Place, Post, User, World } from "./world.ts";

/** A user as the platform writes one. */
export const userPayload = ({ id, username, global_name, discriminator, avatar, bot }: User) => ({
  id,
  username,
  global_name,
  discriminator,
  avatar,
  public_flags: 0,
  flags: 0,
  primary_guild: null,
  ...(bot ? { bot } : {}),
});

/** A channel, thread or direct conversation, as `who` sees it. */
export function placePayload(world: World, place: Place, who: string): Record<string, unknown> {
  const { id, type, name, guild, parent, people, last, archived } = place;
  if (type === 1) {
    const recipients = (people ?? []).filter((one) => one !== who).map((one) => userPayload(world.users.get(one) as User));
    return { id, type, last_message_id: last, flags: 0, recipients };
  }
  const thread = {
    owner_id: who,
    message_count: 1,
    member_count: 1,
    total_message_sent: 1,
    rate_limit_per_user: 0,
    thread_metadata: { archived, auto_archive_duration: 1440, archive_timestamp: "2026-01-01T00:00:00+00:00", locked: false },
  };
  return {
    id,
    type,
    name,
    guild_id: guild,
    parent_id: parent ?? null,
    last_message_id: last,
    flags: 0,
    ...(type === 11 ? thread : { position: 0, permission_overwrites: [], nsfw: false, topic: null, rate_limit_per_user: 0 }),
  };
}

/** A server with its channels and open threads. */
export function guildPayload(world: World, guild: Guild, who: string): Record<string, unknown> {
  const places = [...world.places.values()].filter((place) => place.guild === guild.id && !place.hidden);
  return {
    id: guild.id,
    name: guild.name,
    unavailable: false,
    large: false,
    joined_at: "2026-01-01T00:00:00+00:00",
    member_count: world.users.size,
    owner_id: guild.id,
    features: [],
    emojis: [],
    stickers: [],
    roles: [
      { id: guild.id, name: "@everyone", permissions: "0", position: 0, color: 0, hoist: false, managed: false, mentionable: false, flags: 0 },
      {
        id: guild.botRole,
        name: world.users.get(who)?.username ?? "bot",
        permissions: "0",
        position: 1,
        color: 0,
        hoist: false,
        managed: true,
        mentionable: false,
        flags: 0,
        tags: { bot_id: who },
      },
    ],
    members: [],
    presences: [],
    voice_states: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
    channels: places.filter(({ type }) => type === 0).map((place) => placePayload(world, place, who)),
    threads: places.filter(({ type, archived }) => type === 11 && !archived).map((place) => placePayload(world, place, who)),
  };
}

/** The platform gives each component of a message a number. */
function numbered(components: readonly unknown[]): readonly unknown[] {
  let last = 0;
  const number = (one: unknown): object => {
    const { components: inner, ...rest } = one as { components?: readonly unknown[] };
    last += 1;
    return { id: last, ...rest, ...(inner === undefined ? {} : { components: inner.map(number) }) };
  };
  return components.map(number);
}

const MENTION = /<@!?(\d+)>/g;

/** A message. `content`: the bot may read it; otherwise it is shown only what is meant for it. `addressOf` writes the address of a file. */
export function messagePayload(
  world: World,
  post: Post,
  { who, content, addressOf, nested = false }: { who: string; content: boolean; addressOf(file: string, name: string): string; nested?: boolean },
): Record<string, unknown> {
  const author = world.users.get(post.author) as User;
  const place = world.places.get(post.place);
  const named = [...post.content.matchAll(MENTION)].map(([, id]) => id as string);
  const mentioned = [...new Set([...named, ...post.calls])].flatMap((id) => world.users.get(id) ?? []);
  const readable = content || place?.type === 1 || post.author === who || mentioned.some(({ id }) => id === who);
  const referenced = post.replyTo === undefined ? undefined : world.byId.get(post.replyTo);
  return {
    id: post.id,
    type: post.replyTo === undefined ? post.type : 19,
    channel_id: post.place,
    author: userPayload(author),
    content: readable ? post.content : "",
    timestamp: new Date(Number((BigInt(post.id) >> 22n) + 1_420_070_400_000n)).toISOString().replace("Z", "+00:00"),
    edited_timestamp: post.before.length === 0 ? null : new Date().toISOString().replace("Z", "+00:00"),
    tts: false,
    mention_everyone: false,
    mentions: mentioned.map(userPayload),
    mention_roles: [...post.content.matchAll(/<@&(\d+)>/g)].map(([, id]) => id),
    attachments: readable
      ? post.files.map(({ id, name, type, data }) => ({
          id,
          filename: name,
          size: data.byteLength,
          url: addressOf(id, name),
          proxy_url: addressOf(id, name),
          ...(type === undefined ? {} : { content_type: type }),
        }))
      : [],
    embeds: [],
    pinned: false,
    flags: 0,
    components: readable ? numbered(post.components) : [],
    ...(post.nonce === undefined ? {} : { nonce: post.nonce }),
    ...(post.replyTo === undefined
      ? {}
      : {
          message_reference: { type: 0, message_id: post.replyTo, channel_id: post.place },
          ...(nested
            ? {}
            : { referenced_message: referenced === undefined ? null : messagePayload(world, referenced, { who, content, addressOf, nested: true }) }),
        }),
  };
}
