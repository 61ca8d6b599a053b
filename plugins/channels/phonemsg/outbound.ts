import { createHash } from "node:crypto";
import { type Channel, channelError, type Media, type Outgoing, type Target } from "@svc/sdk";
import type { BinaryNode, proto, WAMessageKey, WASocket } from "@whiskeysockets/baileys";
import { idOf } from "./heard.ts";
import { isGroup, type People } from "./people.ts";
import type { Sent, SentMessage } from "./sent.ts";
import type { Vendor } from "./vendor.ts";

/** Dependencies of sending. */
export interface OutboundDeps {
  readonly vendor: Vendor;
  readonly people: People;
  readonly sent: Sent;
  /** Returns the connection, or throws the reason why there is none. */
  socket(): WASocket;
  /** The name that stands in front of an agent's words; nothing where it needs none. */
  nameOf(agent: string | undefined): string | undefined;
  /** Whether the agent writes markup; else its words go out plain. */
  rich(agent: string | undefined): boolean;
  /** The message of a file that has been handed to the platform. */
  upload(media: Media, signal: AbortSignal): Promise<proto.IMessage>;
  readonly now?: () => number;
}

/** The members of the channel that write. */
export interface Outbound extends Required<Pick<Channel, "send" | "edit" | "remove" | "react" | "typing">> {
  /** A message of the last two days for a device that could not open it: of an edited one, and of its edits, the newest text. */
  again(id: string): Promise<proto.IMessage | undefined>;
}

const ANSWER_MS = 30_000;
/** The platform shows no edit of an older message; a minute less, for what lies between. */
const EDITABLE_MS = 14 * 60_000;
/** Taking back is shown for two days. */
const REMOVABLE_MS = 2 * 24 * 3_600_000;

/** Makes the members of the channel that write. */
export function createOutbound({ vendor, people, sent, socket, nameOf, rich, upload, now = Date.now }: OutboundDeps): Outbound {
  const { proto } = vendor;

  /** Sends and waits until the platform has it; the vendor's own call resolves when it has left. */
  async function relay(address: string, id: string, message: proto.IMessage, attributes: Record<string, string>, signal: AbortSignal): Promise<void> {
    const line = socket();
    signal.throwIfAborted();
    const over = new AbortController();
    const given = new Promise<never>((_resolve, reject) => {
      const stop = () => reject(channelError("unknown", "the send was ended before the platform answered"));
      signal.addEventListener("abort", stop, { once: true, signal: over.signal });
    });
    const answered = line.waitForMessage<BinaryNode | undefined>(id, ANSWER_MS);
    answered.catch(() => {});
    try {
      const relayed = line.relayMessage(address, message, { messageId: id, additionalAttributes: attributes });
      relayed.catch(() => {});
      await Promise.race([relayed, given]).catch((error) => Promise.reject(failureOf(error)));
      const answer = await Promise.race([answered, given]).catch((error) => Promise.reject(failureOf(error)));
      if (answer === undefined) throw channelError("unknown", "the platform has not answered");
      const refusal = answer.attrs.error;
      if (refusal !== undefined) throw refusalOf(refusal);
    } finally {
      over.abort();
    }
  }

  const keyOf = async (target: Target, platformId: string, fromMe: boolean): Promise<WAMessageKey> => {
    const address = await people.addressOf(target.chat);
    const { id, participant } = idOf(platformId);
    return { remoteJid: address, id, fromMe, ...(participant === undefined ? {} : { participant }) };
  };

  const editOf = (address: string, platformId: string, content: proto.IMessage): proto.IMessage => ({
    protocolMessage: {
      key: { remoteJid: address, id: platformId, fromMe: true },
      type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT,
      editedMessage: content,
      timestampMs: now(),
    },
  });
  const bytesOf = (message: proto.IMessage): string => Buffer.from(proto.Message.encode(message).finish()).toString("base64");
  const messageOf = ({ message }: SentMessage): proto.IMessage => proto.Message.decode(Buffer.from(message, "base64"));

  const worded = ({ text, plain, agent }: Outgoing): string => {
    const name = nameOf(agent);
    if (!rich(agent)) return name === undefined ? plain : `${name}:\n${plain}`;
    return name === undefined ? text : `*${name}*\n${text}`;
  };

  return {
    async send(out, signal) {
      socket();
      const address = await people.addressOf(out.target.chat);
      const id = messageId(out.key);
      const [file] = out.media ?? [];
      const before = await sent.get(id);
      const message = before !== undefined ? messageOf(before) : file === undefined ? textOf(worded(out), quoteOf(out.target)) : await upload(file, signal);
      // Send only once it is on disk: a receiver who could not decrypt it may request it again after this process was killed.
      const kept = before === undefined ? sent.keep(id, { address, at: now(), message: bytesOf(message) }) : undefined;
      await Promise.all([kept, relay(address, id, message, {}, signal)]);
      return { platformId: id };
    },
    async edit(platformId, out, signal) {
      socket();
      const before = await sent.get(platformId);
      if (before === undefined || before.at < now() - EDITABLE_MS) throw channelError("permanent", "this message cannot be edited any more");
      const content = textOf(worded(out));
      const id = messageId(`${platformId}/${out.key}/${out.text}`);
      await Promise.all([
        sent.keep(platformId, { ...before, message: bytesOf(content) }),
        sent.keep(id, { address: before.address, at: now(), message: "", edits: platformId }),
        relay(before.address, id, editOf(before.address, platformId, content), { edit: "1" }, signal),
      ]);
      // The library's own memory of what it sent would hand out the text before.
      socket().messageRetryManager?.addRecentMessage(before.address, platformId, content);
    },
    async again(id) {
      const found = await sent.get(id);
      if (found?.edits === undefined) return found === undefined ? undefined : messageOf(found);
      const edited = await sent.get(found.edits);
      return edited === undefined ? undefined : editOf(edited.address, found.edits, messageOf(edited));
    },
    async remove(target, platformId, signal) {
      const before = await sent.get(platformId);
      if (before !== undefined && before.at < now() - REMOVABLE_MS) throw channelError("permanent", "this message cannot be taken back any more");
      const key = await keyOf(target, platformId, true);
      const message = { protocolMessage: { key, type: proto.Message.ProtocolMessage.Type.REVOKE } };
      const id = messageId(`${platformId}/remove`);
      await sent.keep(id, { address: key.remoteJid as string, at: now(), message: bytesOf(message) });
      await relay(key.remoteJid as string, id, message, { edit: "7" }, signal);
      await sent.forget(platformId);
    },
    async react(target, platformId, emoji, signal) {
      const key = await keyOf(target, platformId, false);
      const message = { reactionMessage: { key, text: emoji, senderTimestampMs: now() } };
      await relay(key.remoteJid as string, messageId(`${platformId}/react/${emoji}`), message, {}, signal);
    },
    async typing(target) {
      const line = socket();
      const address = await people.addressOf(target.chat);
      await line.sendPresenceUpdate("composing", address).catch(() => {});
    },
  };

  function textOf(text: string, quote?: proto.IContextInfo): proto.IMessage {
    return { extendedTextMessage: { text, ...(quote === undefined ? {} : { contextInfo: quote }) } };
  }
}

/** The answer refers to what it answers; what that said is not repeated. Only in a group, where it is not plain anyway. */
function quoteOf({ chat, replyTo }: Target): proto.IContextInfo | undefined {
  if (replyTo === undefined || !isGroup(chat)) return undefined;
  const { id, participant } = idOf(replyTo);
  return participant === undefined ? undefined : { stanzaId: id, participant, quotedMessage: { conversation: "" } };
}

/** The same for the same key at all times: a device that has a message already shows no second one of its id. */
export const messageId = (key: string): string => `3EB0${createHash("sha256").update(key).digest("hex").slice(0, 18).toUpperCase()}`;

/** The platform's refusal as the kernel understands it. */
function refusalOf(code: string): Error {
  const text = `the platform refuses the message: ${code}`;
  if (code === "429") return channelError("retry", text, 30_000);
  // A stale key of the other side's device: the next try makes a new one.
  if (code === "479" || code.startsWith("5")) return channelError("retry", text);
  if (code === "463") return channelError("permanent", `${text}; the number may not begin new conversations at the moment`);
  return channelError("permanent", text);
}

/** A connection that ends while we wait: the message may have arrived. */
function failureOf(error: unknown): Error {
  const { failure, message = "" } = error as { failure?: string; message?: string };
  return failure === undefined ? channelError("unknown", `the connection ended before the platform answered: ${message.slice(0, 120)}`) : (error as Error);
}
