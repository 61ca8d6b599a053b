import type { Library } from "./library.ts";

/** A message as the people of a chat see it. */
export interface Shown {
  readonly id: string;
  /** A person's number, or the group's id. */
  readonly chat: string;
  text: string;
  /** Times that its text was changed. */
  edits: number;
  readonly file?: Uint8Array;
  readonly kind?: string;
  readonly at: number;
  /** Every text it has had. */
  readonly texts: string[];
  /** When its sender last changed it: an older change comes too late. */
  editedAt: number;
}

/** What the linked number has written, in the order in which it was first seen. */
export interface Chats {
  readonly shown: Shown[];
  readonly reactions: { readonly chat: string; readonly id: string; readonly emoji: string; readonly participant?: string }[];
  /** Takes what a device has opened. A message of an id that is there shows nothing more. */
  take(chat: string, id: string, message: Library, file: (described: Library, kind: string) => Uint8Array | undefined): void;
}

const EDITABLE_MS = 15 * 60_000;

/** Makes empty chats. */
export function createChats(lib: Library, now: () => number = Date.now): Chats {
  const shown: Shown[] = [];
  const reactions: { chat: string; id: string; emoji: string; participant?: string }[] = [];
  const seen = new Set<string>();
  const { Type } = lib.proto.Message.ProtocolMessage;
  return {
    shown,
    reactions,
    take(chat, id, message, file) {
      if (seen.has(`${chat}/${id}`)) return;
      seen.add(`${chat}/${id}`);
      const content = lib.normalizeMessageContent(message);
      const { protocolMessage: order, reactionMessage: reaction } = content;
      if (order !== null && order !== undefined) {
        const at = shown.findIndex((one) => one.chat === chat && one.id === order.key?.id);
        const found = shown[at];
        if (found === undefined) return;
        if (order.type === Type.REVOKE) shown.splice(at, 1);
        const editedAt = Number(order.timestampMs ?? 0);
        if (order.type === Type.MESSAGE_EDIT && found.at > now() - EDITABLE_MS && editedAt >= found.editedAt) {
          found.editedAt = editedAt;
          found.text = wordsOf(lib.normalizeMessageContent(order.editedMessage));
          found.texts.push(found.text);
          found.edits += 1;
        }
        return;
      }
      if (reaction !== null && reaction !== undefined) {
        const { id: target, participant } = reaction.key;
        reactions.push({ chat, id: target, emoji: reaction.text, ...(participant ? { participant } : {}) });
        return;
      }
      const described = content.imageMessage ?? content.videoMessage ?? content.audioMessage ?? content.documentMessage;
      const kind = content.imageMessage ? "image" : content.videoMessage ? "video" : content.audioMessage ? "audio" : "document";
      const text = wordsOf(content);
      const bytes = described ? file(described, kind) : undefined;
      if (content.senderKeyDistributionMessage && text === "" && bytes === undefined) {
        seen.delete(`${chat}/${id}`);
        return;
      }
      shown.push({ id, chat, text, edits: 0, at: now(), texts: [text], editedAt: 0, ...(bytes === undefined ? {} : { file: bytes, kind }) });
    },
  };
}

const wordsOf = (content: Library): string => content?.conversation || content?.extendedTextMessage?.text || content?.imageMessage?.caption || "";
