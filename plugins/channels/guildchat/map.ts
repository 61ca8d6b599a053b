import { choiceOf, handlesIn, type Media, type Message, plainHandle, type Sender } from "@svc/sdk";
import { isSaying } from "./buttons.ts";
import type { Place } from "./places.ts";
import type { WireAttachment, WireInteraction, WireMessage, WireUser } from "./wire.ts";

/** A message as it was heard. */
export interface Heard {
  readonly message: Message;
  /** The message addresses the bot: by name, as a reply, in a direct conversation, or by its own button or command. */
  readonly addressed: boolean;
  /** The bot itself is named in the words. */
  readonly named: boolean;
  /** The author is a program. */
  readonly bot: boolean;
  readonly guild?: string;
  readonly roles: readonly string[] | undefined;
}

/** This bot, and the known facts about the place. */
export interface Around {
  readonly me: WireUser;
  readonly place: Place;
  readonly guildName?: string;
  /** The role that the platform made for this bot. */
  readonly role?: string;
}

/** Ordinary messages, answers, and what commands wrote; everything else is the platform's own note. */
const WRITTEN: ReadonlySet<number> = new Set([0, 19, 20, 23]);
/** Longer than any message of the platform. */
const LONGEST = 10_000;
/** The command that asks the agent. */
export const COMMAND = "ask";

/** Maps a post to a message; undefined for others: a note of the platform, an empty one, one of this bot. */
export function heardOf(post: WireMessage, around: Around): Heard | undefined {
  const { me, place } = around;
  if (post.author?.id === undefined || post.author.id === me.id || !WRITTEN.has(post.type)) return undefined;
  const content = typeof post.content === "string" ? post.content.slice(0, LONGEST) : "";
  const media = mediaOf(post);
  const spoken = withoutCode(content);
  const bot = post.author.bot === true || post.webhook_id !== undefined;
  const named = new RegExp(`<@!?${me.id}>`).test(spoken) || (around.role !== undefined && spoken.includes(`<@&${around.role}>`));
  // A reply addresses its author without naming it: between programs that would loop endlessly.
  const answers = !bot && post.referenced_message?.author?.id === me.id;
  const text = wordsOf(content, post.mentions ?? [], around);
  if (text === "" && media.length === 0 && !named) return undefined;
  const mentions = [...new Set([...(named ? [plainHandle(me.username)] : []), ...handlesIn(wordsOf(spoken, post.mentions ?? [], around))])];
  const message: Message = {
    ...placed(around),
    sender: senderOf(post.author, post.member?.nick, bot),
    // Only called by its name.
    text: text === "" && media.length === 0 ? `@${me.username}` : text,
    platformId: post.id,
    dedupKey: post.id,
    ...(mentions.length === 0 ? {} : { mentions }),
    ...(media.length === 0 ? {} : { media }),
    ...replyOf(post, around),
  };
  return {
    message,
    addressed: place.direct === true || named || answers,
    named,
    bot,
    roles: post.member?.roles,
    ...(place.guild === undefined ? {} : { guild: place.guild }),
  };
}

/** Maps the use of a button or the command. A button counts as its label, one of a delivery with choices as that choice. */
export function usedOf(interaction: WireInteraction, around: Around): Heard | undefined {
  const { place } = around;
  const user = interaction.member?.user ?? interaction.user;
  if (user === undefined || user.id === around.me.id) return undefined;
  const { data, type, message: post } = interaction;
  const choice = type === 3 && data?.custom_id !== undefined ? choiceOf(data.custom_id) : undefined;
  const asked = type === 2 && data?.name === COMMAND ? data.options?.find(({ name }) => name === "text")?.value : undefined;
  const label = post?.components?.flatMap(({ components = [] }) => components).find(({ custom_id }) => custom_id === data?.custom_id)?.label;
  const text = type === 3 ? (label ?? choice?.id) : typeof asked === "string" ? asked.trim() : undefined;
  if (text === undefined || text === "" || (type === 3 && choice === undefined && !isSaying(data?.custom_id ?? ""))) return undefined;
  const message: Message = {
    ...placed(around),
    sender: senderOf(user, undefined, user.bot === true),
    text: type === 3 ? text : wordsOf(text, [], around),
    dedupKey: interaction.id,
    ...(post === undefined ? {} : { platformId: post.id }),
    ...(choice === undefined ? {} : { choice }),
    ...(type === 2 ? { mentions: [...new Set([plainHandle(around.me.username), ...handlesIn(text)])] } : {}),
  };
  return {
    message,
    addressed: true,
    named: false,
    bot: user.bot === true,
    roles: interaction.member?.roles,
    ...(place.guild === undefined ? {} : { guild: place.guild }),
  };
}

function placed({ place, guildName }: Around): Omit<Message, "text"> {
  const title = place.name === undefined ? guildName : `#${place.name}${guildName === undefined ? "" : ` (${guildName})`}`;
  return {
    entry: "channel",
    channel: "guildchat",
    chat: place.parent ?? place.id,
    ...(place.parent === undefined ? {} : { thread: place.id }),
    ...(place.direct ? { direct: true } : {}),
    ...(title === undefined ? {} : { facts: { chatTitle: title } }),
  };
}

/** The sender of a message, from the platform's user. */
export function senderOf({ id, username, global_name: shown }: WireUser, nick: string | null | undefined, bot: boolean): Sender {
  return { id, name: nick ?? shown ?? username, handle: username, ...(bot ? { bot: true } : {}) };
}

function replyOf(post: WireMessage, around: Around): Pick<Message, "replyTo"> {
  const { referenced_message: before, message_reference: reference } = post;
  const platformId = before?.id ?? (post.type === 19 ? reference?.message_id : undefined);
  if (platformId === undefined) return {};
  const text = before === undefined || before === null ? "" : wordsOf(before.content ?? "", before.mentions ?? [], around);
  return {
    replyTo: {
      platformId,
      ...(text === "" ? {} : { text }),
      ...(before?.author === undefined ? {} : { sender: senderOf(before.author, undefined, before.author.bot === true) }),
    },
  };
}

/** Signs that stand for names, as people read them; the bot's own name at the beginning is left out. */
function wordsOf(content: string, mentions: readonly WireUser[], { me, role }: Around): string {
  const names = new Map([...mentions, me].map(({ id, username }) => [id, username]));
  const own = `(?:<@!?${me.id}>${role === undefined ? "" : `|<@&${role}>`})`;
  return content
    .replace(new RegExp(`^\\s*(?:${own}[\\s,:]*)+`), "")
    .replace(/<@!?(\d+)>/g, (sign, id: string) => (names.has(id) ? `@${names.get(id)}` : sign))
    .replace(/<a?(:\w+:)\d+>/g, "$1")
    .trim();
}

/** Removes code: names in it are quoted, not addressed. */
const withoutCode = (content: string): string => content.replace(/(`{3,})[\s\S]*?(?:\1|$)|(`+)[^`][\s\S]*?\2/g, (code) => " ".repeat(code.length));

/** The handle of a file: where it is, and its address, which works for some hours. */
export const handleOf = (place: string, message: string, file: WireAttachment): string => `${place}/${message}/${file.id} ${file.url}`;

function mediaOf({ channel_id: place, id, attachments }: WireMessage): Media[] {
  return (Array.isArray(attachments) ? (attachments as readonly WireAttachment[]) : []).map((file) => {
    const type = file.content_type?.split(";")[0];
    const [family] = type?.split("/") ?? [];
    return {
      kind: family === "image" || family === "audio" || family === "video" ? family : "file",
      handle: handleOf(place, id, file),
      name: file.filename,
      ...(type === undefined ? {} : { type }),
      ...(typeof file.size === "number" ? { size: file.size } : {}),
    };
  });
}
