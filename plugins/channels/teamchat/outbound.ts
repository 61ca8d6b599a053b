import { channelError, type Outgoing, type Render, richOf, type Target } from "@svc/sdk";
import { answerButtons } from "./buttons.ts";
import { type Content, contentOf, wordsOf } from "./content.ts";
import { emojiName } from "./emoji.ts";
import { isRefused, refusalIn } from "./failure.ts";
import type { Files } from "./files.ts";
import type { Sent } from "./sent.ts";
import type { Streams } from "./streams.ts";
import type { WebApi } from "./web-api.ts";
import { isDirect } from "./wire.ts";

/** Dependencies of sending. */
export interface OutboundDeps {
  readonly api: WebApi;
  readonly files: Files;
  readonly sent: Sent;
  readonly streams: Streams;
  /** Markup; without it only words go out. */
  rich(out: Outgoing): boolean;
  render(): Render;
}

/** Sends to one workspace. Errors carry their class for the kernel. */
export interface Outbound {
  send(out: Outgoing, signal: AbortSignal): Promise<string>;
  edit(messageId: string, out: Outgoing, signal: AbortSignal): Promise<void>;
  remove(target: Target, messageId: string, signal: AbortSignal): Promise<void>;
  react(target: Target, messageId: string, emoji: string, signal: AbortSignal): Promise<void>;
}

const FILE = "file:";

/** Makes the sending side of one workspace. */
export function createOutbound({ api, files, sent, streams, rich, render }: OutboundDeps): Outbound {
  /** A message that was sent to a person stands in the room with that person, whose id its own begins with. */
  const placed = (target: Target, id: string): { readonly channel: string; readonly ts: string } => {
    const [ts = "", channel = target.chat] = id.split("@");
    return { channel, ts };
  };

  async function post(out: Outgoing, signal: AbortSignal): Promise<string> {
    const { chat, thread } = out.target;
    if (out.grows && thread !== undefined && isDirect(chat) && out.text !== out.plain && rich(out)) {
      // In a channel only one person would see it grow: there it is edited, which all see.
      const begun = await streams.begin({ chat, thread, markdown: wordsOf(richOf(out.text, true)) }, signal);
      if (begun !== undefined) return begun;
    }
    const content = contentOf(out, render(), rich(out));
    const args = {
      channel: chat,
      ...(thread === undefined ? {} : { thread_ts: thread }),
      text: content.text,
      ...(content.blocks.length === 0 ? {} : { blocks: content.blocks }),
      mrkdwn: content.mrkdwn,
      unfurl_links: false,
      unfurl_media: false,
      metadata: sent.mark(out.key),
    };
    const { ts, channel } = await api.call<{ ts: string; channel?: string }>("chat.postMessage", args, { signal, writes: true });
    return channel === undefined || channel === chat ? ts : `${ts}@${channel}`;
  }

  async function update(channel: string, ts: string, content: Content, key: string, signal: AbortSignal): Promise<void> {
    const args = { channel, ts, text: content.text, blocks: content.blocks, metadata: sent.mark(key) };
    try {
      await api.call("chat.update", args, { signal, writes: true });
    } catch (error) {
      if (isRefused(error, "message_not_modified", "no_change")) return;
      if (isRefused(error, "msg_too_long")) throw channelError("permanent", (error as Error).message);
      if (!isRefused(error, "streaming_state_conflict")) throw error;
      // An earlier process began it and did not come to its end.
      await streams.end(channel, ts, signal);
      await api.call("chat.update", args, { signal, writes: true });
    }
  }

  return {
    async send(out, signal) {
      const [file] = out.media ?? [];
      return sent.once(out, signal, async () => {
        if (file !== undefined) return FILE + (await files.upload(file, out.target, signal));
        try {
          return await post(out, signal);
        } catch (error) {
          throw isRefused(error, "msg_too_long") ? channelError("format", (error as Error).message) : error;
        }
      });
    },
    async edit(messageId, out, signal) {
      const { channel, ts } = placed(out.target, messageId);
      if (rich(out) && out.text !== out.plain && out.choices === undefined) {
        const answer = richOf(out.text, out.grows);
        const end = { metadata: sent.mark(out.key), blocks: answerButtons(answer) };
        if (await streams.show(channel, ts, wordsOf(answer), out.grows === true, end, signal)) return;
      } else await endOf(channel, ts, signal);
      await update(channel, ts, contentOf(out, render(), rich(out)), out.key, signal);
    },
    async remove(target, messageId, signal) {
      if (messageId.startsWith(FILE)) await api.call("files.delete", { file: messageId.slice(FILE.length) }, { signal, writes: true });
      else await api.call("chat.delete", { ...placed(target, messageId) }, { signal, writes: true });
    },
    async react(target, messageId, emoji, signal) {
      const name = emojiName(emoji);
      if (name === undefined) throw channelError("permanent", `the emoji ${emoji} has no name here; write its name, such as eyes`);
      const { channel, ts } = placed(target, messageId);
      try {
        await api.call("reactions.add", { channel, timestamp: ts, name }, { signal, writes: true });
      } catch (error) {
        if (refusalIn(error)?.error !== "already_reacted") throw error;
      }
    },
  };

  /** Of a message that was streamed up to now and is not to be any more. */
  async function endOf(channel: string, ts: string, signal: AbortSignal): Promise<void> {
    if (streams.has(channel, ts)) await streams.end(channel, ts, signal);
  }
}
