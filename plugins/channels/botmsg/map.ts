import { choiceOf, handlesIn, type Media, type Message, plainHandle, type Sender } from "@svc/sdk";
import type { Message as BotMessage, CallbackQuery, MessageEntity, Update, User, UserFromGetMe } from "grammy/types";

/** A message as it was heard on an account. */
export interface Heard {
  readonly message: Message;
  /** The message addresses the bot: by name, as a reply, or by a button of its own message. */
  readonly addressed: boolean;
  /** The bot's own handle is in the text. */
  readonly named: boolean;
  /** To be told that the button was received. */
  readonly callbackId?: string;
}

/** Maps an update to a message; undefined for others: a service note, a bare edit, an empty one. */
export function heardOf(update: Update, account: string, me: UserFromGetMe): Heard | undefined {
  const key = `${me.id}/${update.update_id}`;
  if (update.callback_query !== undefined) return pressed(update.callback_query, account, me, key);
  const post = update.message;
  if (post?.from === undefined || post.from.id === me.id) return undefined;
  const text = post.text ?? post.caption ?? "";
  const media = mediaOf(post, account);
  if (text === "" && media.length === 0) return undefined;
  const entities = post.entities ?? post.caption_entities ?? [];
  const mentions = handlesIn(withoutCode(text, entities));
  const own = plainHandle(me.username);
  const named = mentions.includes(own) || entities.some((entity) => entity.type === "text_mention" && entity.user.id === me.id);
  const repliesToBot = post.reply_to_message?.from?.id === me.id;
  const message = {
    ...placeOf(post, account),
    sender: senderOf(post.from),
    text: withoutOwnName(text, me.username),
    platformId: String(post.message_id),
    dedupKey: key,
    ...(mentions.length === 0 ? {} : { mentions }),
    ...(media.length === 0 ? {} : { media }),
    ...replyOf(post),
  };
  return { message, addressed: message.direct === true || named || repliesToBot, named };
}

/**
 * A pressed button counts as its label said by the person who pressed it, one of a delivery with choices as that choice. The platform shows
 * no buttons of a message that is too old: what such a button hands back counts as a choice only, which the kernel judges.
 */
function pressed(query: CallbackQuery, account: string, me: UserFromGetMe, key: string): Heard | undefined {
  const post = query.message;
  if (post === undefined || query.from.id === me.id) return undefined;
  const choice = query.data === undefined ? undefined : choiceOf(query.data);
  const buttons = ("reply_markup" in post ? post.reply_markup?.inline_keyboard.flat() : undefined) ?? [];
  const label = buttons.find((button) => "callback_data" in button && button.callback_data === query.data)?.text;
  if (label === undefined && choice === undefined) return undefined;
  const message = {
    ...placeOf(post, account),
    sender: senderOf(query.from),
    text: label ?? choice?.id ?? "",
    platformId: String(post.message_id),
    dedupKey: key,
    ...(choice === undefined ? {} : { choice }),
  };
  return { message, addressed: true, named: true, callbackId: query.id };
}

type Place = Pick<BotMessage, "chat"> & Partial<Pick<BotMessage, "is_topic_message" | "message_thread_id">>;

function placeOf(post: Place, account: string): Omit<Message, "text"> {
  const { chat } = post;
  return {
    entry: "channel",
    channel: "botmsg",
    account,
    chat: String(chat.id),
    ...(chat.type === "private" ? { direct: true } : {}),
    ...(post.is_topic_message && post.message_thread_id !== undefined ? { thread: String(post.message_thread_id) } : {}),
    ...(chat.title === undefined ? {} : { facts: { chatTitle: chat.title } }),
  };
}

/** The sender of a message, from the platform's user. */
export function senderOf({ id, is_bot, first_name, last_name, username }: User): Sender {
  const name = [first_name, last_name].filter((part) => part !== undefined && part !== "").join(" ");
  return { id: String(id), ...(name === "" ? {} : { name }), ...(username === undefined ? {} : { handle: username }), ...(is_bot ? { bot: true } : {}) };
}

function replyOf({ reply_to_message: post }: BotMessage): Pick<Message, "replyTo"> {
  if (post === undefined || post.forum_topic_created !== undefined) return {};
  const text = post.text ?? post.caption;
  return {
    replyTo: {
      platformId: String(post.message_id),
      ...(text === undefined ? {} : { text }),
      ...(post.from === undefined ? {} : { sender: senderOf(post.from) }),
    },
  };
}

/** Removes code: handles in it are quoted, not addressed. Offsets count UTF-16 units, as the platform does. */
function withoutCode(text: string, entities: readonly MessageEntity[]): string {
  let rest = text;
  for (const { type, offset, length } of entities) {
    if (type === "code" || type === "pre") rest = rest.slice(0, offset) + " ".repeat(length) + rest.slice(offset + length);
  }
  return rest;
}

const withoutOwnName = (text: string, username: string) => text.replace(new RegExp(`^\\s*@${username}\\b[\\s,:]*`, "i"), "");

interface File {
  readonly file_id: string;
  readonly file_size?: number;
  readonly file_name?: string;
  readonly mime_type?: string;
}

const isPicture = ({ mime_type }: File): boolean => /^image\/(?:png|jpeg|gif|webp)$/.test(mime_type ?? "");

function mediaOf(post: BotMessage, account: string): Media[] {
  const make = (kind: Media["kind"], { file_id, file_size, file_name, mime_type }: File): Media => ({
    kind,
    handle: `${account}/${file_id}`,
    ...(file_name === undefined ? {} : { name: file_name }),
    ...(mime_type === undefined ? {} : { type: mime_type }),
    ...(file_size === undefined ? {} : { size: file_size }),
  });
  const largest = post.photo?.at(-1);
  return [
    ...(largest === undefined ? [] : [make("image", { ...largest, mime_type: "image/jpeg" })]),
    ...(post.voice === undefined ? [] : [make("audio", post.voice)]),
    ...(post.audio === undefined ? [] : [make("audio", post.audio)]),
    ...(post.video === undefined ? [] : [make("video", post.video)]),
    ...(post.video_note === undefined ? [] : [make("video", { ...post.video_note, mime_type: "video/mp4" })]),
    // An animation comes with a document of the same file, and a picture that is sent uncompressed as a document.
    ...(post.document === undefined ? [] : [make(post.animation !== undefined ? "video" : isPicture(post.document) ? "image" : "file", post.document)]),
  ];
}
