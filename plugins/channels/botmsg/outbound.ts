import { type AnswerButton, type AnswerPoll, channelError, type Media, type Outgoing, type Render, type RichAnswer, richOf, type Target } from "@svc/sdk";
import type { Api, InputFile } from "grammy";
import type { Asked } from "./asked.ts";
import { failureOf, isNoPhoto, isUnchanged, refusalIn } from "./failure.ts";
import { HTML } from "./markup.ts";

/** Dependencies of sending. */
export interface OutboundDeps {
  readonly api: Api;
  /** Markup, buttons and polls; without it only words go out. */
  rich(): boolean;
  render(): Render;
  /** Messages with a poll: an edit or a retry does not ask twice, and does not say the words twice. */
  readonly asked: Asked;
  upload(media: Media): InputFile;
}

/** Sends on one account. Errors carry their class for the kernel. */
export interface Outbound {
  send(out: Outgoing, signal: AbortSignal): Promise<string>;
  edit(messageId: string, out: Outgoing, signal: AbortSignal): Promise<void>;
  remove(target: Target, messageId: string, signal: AbortSignal): Promise<void>;
  react(target: Target, messageId: string, emoji: string, signal: AbortSignal): Promise<void>;
  typing(target: Target, signal: AbortSignal): Promise<void>;
}

/** One of an answer, or of a delivery with choices, which hands its data back. */
type Row = readonly (AnswerButton & { readonly data?: string })[];

const CHOOSE = "Please choose:";

/** Makes the sending side of one account. Failures are `ChannelFailure`s. */
export function createOutbound({ api, rich, render, asked, upload }: OutboundDeps): Outbound {
  /** A group that became a larger one has a new id, which the refusal names. */
  const at = async <T>(target: Target, work: (chat: string | number) => Promise<T>): Promise<T> => {
    try {
      return await work(chatOf(target.chat));
    } catch (error) {
      const moved = refusalIn(error)?.parameters?.migrate_to_chat_id;
      if (moved === undefined) throw channelFailureOf(error);
      return work(moved).catch((again) => Promise.reject(channelFailureOf(again)));
    }
  };

  const rowsOf = ({ choices = [] }: Outgoing): readonly Row[] => inRows(choices.map(({ label, data }) => ({ label, data })));

  const parse = (out: Outgoing): RichAnswer => (rich() ? richOf(out.text) : { words: out.plain, rows: [] });

  const shape = (out: Outgoing, { words, rows }: RichAnswer) => {
    const text = words === "" ? CHOOSE : words;
    // Without markup there is nothing to parse; so it is, too, when the kernel falls back to the plain words after a format error.
    const marked = rich() && out.text !== out.plain;
    return {
      text: marked ? render().to(HTML, text) : text,
      other: { ...(marked ? { parse_mode: "HTML" as const } : {}), ...keyboard([...rows, ...rowsOf(out)]) },
    };
  };

  async function ask(out: Outgoing, poll: AnswerPoll, signal: AbortSignal): Promise<string> {
    const before = (await asked.get(out.key))?.id;
    if (before !== undefined) return before;
    const options = poll.options.map((text) => ({ text }));
    const { message_id } = await at(out.target, (chat) => api.sendPoll(chat, poll.question, options, placing(out.target), foreign(signal))).catch(asForm);
    await asked.keep(out.key, { id: String(message_id) });
    return String(message_id);
  }

  async function edit(messageId: string, out: Outgoing, signal: AbortSignal): Promise<void> {
    const parsed = parse(out);
    const { text, other } = shape(out, parsed);
    await at(out.target, async (chat) => {
      try {
        await api.editMessageText(chat, Number(messageId), text, other, foreign(signal));
      } catch (error) {
        if (!isUnchanged(error)) throw error;
      }
    });
    if (parsed.poll !== undefined) await ask(out, parsed.poll, signal);
  }

  return {
    async send(out, signal) {
      const [file] = out.media ?? [];
      if (file !== undefined) return String(await at(out.target, (chat) => sendFile(api, chat, file, out, upload, signal)));
      const parsed = parse(out);
      if (parsed.poll !== undefined && parsed.words === "" && parsed.rows.length === 0) return ask(out, parsed.poll, signal);
      // The words are there, and their poll was refused.
      const { words } = (await asked.get(out.key)) ?? {};
      if (words !== undefined) {
        await edit(words, out, signal);
        return words;
      }
      const { text, other } = shape(out, parsed);
      const { message_id } = await at(out.target, (chat) => api.sendMessage(chat, text, { ...other, ...placing(out.target) }, foreign(signal)));
      if (parsed.poll === undefined) return String(message_id);
      await asked.keep(out.key, { words: String(message_id) });
      await ask(out, parsed.poll, signal);
      return String(message_id);
    },
    edit,
    remove: (target, messageId, signal) => at(target, async (chat) => void (await api.deleteMessage(chat, Number(messageId), foreign(signal)))),
    react: (target, messageId, emoji, signal) =>
      at(target, async (chat) => void (await api.setMessageReaction(chat, Number(messageId), [{ type: "emoji", emoji: emoji as never }], {}, foreign(signal)))),
    typing: (target, signal) => at(target, async (chat) => void (await api.sendChatAction(chat, "typing", threadOf(target), foreign(signal)))),
  };
}

/** The vendor types its signal after a polyfill; the real one is what it gets and uses. */
export const foreign = (signal: AbortSignal): never => signal as never;

const channelFailureOf = (error: unknown): Error => ((error as { failure?: unknown }).failure === undefined ? failureOf(error) : (error as Error));

/** A poll that is refused for good, as where a chat allows none, is written out as text. */
const asForm = (error: { readonly failure?: string; readonly message: string }): never => {
  throw error.failure === "permanent" ? channelError("format", error.message) : error;
};

/** Ids of chats are numbers, names of channels are not. */
const chatOf = (chat: string): string | number => (/^-?\d+$/.test(chat) ? Number(chat) : chat);

const threadOf = ({ thread }: Target) => (thread === undefined ? {} : { message_thread_id: Number(thread) });

const placing = (target: Target) => ({
  ...threadOf(target),
  ...(target.replyTo === undefined ? {} : { reply_parameters: { message_id: Number(target.replyTo), allow_sending_without_reply: true } }),
});

function keyboard(rows: readonly Row[]) {
  if (rows.length === 0) return {};
  const inline_keyboard = rows.map((row, line) =>
    row.map(({ label, url, data }, column) => (url === undefined ? { text: label, callback_data: data ?? `${line}.${column}` } : { text: label, url })),
  );
  return { reply_markup: { inline_keyboard } };
}

/** Characters of the labels that fit into one row on a narrow screen, and most buttons of a row. */
const ROW_CHARS = 24;
const ROW_BUTTONS = 3;

/** Short labels beside each other, long ones below. */
function inRows(buttons: Row): readonly Row[] {
  const width = buttons.reduce((sum, { label }) => sum + [...label].length, 0);
  return buttons.length <= ROW_BUTTONS && width <= ROW_CHARS ? [buttons].filter((row) => row.length > 0) : buttons.map((button) => [button]);
}

async function sendFile(
  api: Api,
  chat: string | number,
  file: Media,
  out: Outgoing,
  upload: (media: Media) => InputFile,
  signal: AbortSignal,
): Promise<number> {
  const source = file.handle?.slice(file.handle.indexOf("/") + 1) ?? file.url ?? upload(file);
  const other = placing(out.target);
  const cut = foreign(signal);
  switch (file.kind) {
    case "image":
      try {
        return (await api.sendPhoto(chat, source, other, cut)).message_id;
      } catch (error) {
        if (!isNoPhoto(error)) throw error;
        return (await api.sendDocument(chat, source, other, cut)).message_id;
      }
    case "audio":
      return (await api.sendAudio(chat, source, other, cut)).message_id;
    case "video":
      return (await api.sendVideo(chat, source, other, cut)).message_id;
    case "file":
      return (await api.sendDocument(chat, source, other, cut)).message_id;
    default:
      throw channelError("permanent", `files of the kind '${file.kind satisfies never}' are not known here`);
  }
}
