import type { Media, Message } from "@svc/sdk";
import type { proto, WAMessage } from "@whiskeysockets/baileys";
import { handleOf } from "./media.ts";
import { isGroup, isPerson, type Known, type People, partsOf } from "./people.ts";
import type { Vendor } from "./vendor.ts";

/** A message as it was heard. */
export interface Heard {
  readonly message: Message;
  readonly sender: Known;
  /** The address of the group that it was written in. */
  readonly group?: string;
}

/** Returns the platform id of a message: in a group with its author, whom a reaction to it must name. */
export const platformIdOf = (id: string, participant: string | null | undefined): string =>
  participant == null || participant === "" ? id : `${id}/${participant}`;

/** The platform's own parts of such a name. */
export function idOf(platformId: string): { readonly id: string; readonly participant?: string } {
  const [, id, participant] = /^(.*)\/([\d:]+@(?:lid|s\.whatsapp\.net))$/s.exec(platformId) ?? [];
  return id === undefined || participant === undefined ? { id: platformId } : { id, participant };
}

/** Our account: its number and its hidden id. */
export interface Own {
  readonly number: string;
  readonly hidden?: string;
}

/** Maps a message; undefined for others: our own, an edit, a reaction, a key, a status, a channel's post. */
export async function heardOf({ key, message: whole, pushName }: WAMessage, own: Own, people: People, vendor: Vendor): Promise<Heard | undefined> {
  const { remoteJid: chat, id } = key;
  if (key.fromMe === true || typeof chat !== "string" || typeof id !== "string" || id === "") return undefined;
  if (!isGroup(chat) && !isPerson(chat)) return undefined;
  const content = vendor.normalizeMessageContent(whole);
  if (content === undefined || content === null) return undefined;
  const said = wordsOf(content);
  const media = mediaOf(content);
  if (said === "" && media.length === 0) return undefined;
  const from = isGroup(chat) ? key.participant : chat;
  if (typeof from !== "string" || isOwn(from, own)) return undefined;
  const sender = await people.known(from, (isGroup(chat) ? key.participantAlt : key.remoteJidAlt) ?? undefined);
  const context = contextOf(content);
  const named = (context?.mentionedJid ?? []).some((address) => isOwn(address, own));
  const text = named ? withoutOwnName(said, own) : said;
  const mentions = named ? [own.number] : [];
  const place = isGroup(chat) ? chat : sender.id;
  return {
    sender,
    ...(isGroup(chat) ? { group: chat } : {}),
    message: {
      entry: "channel",
      channel: "phonemsg",
      chat: place,
      ...(isGroup(chat) ? {} : { direct: true }),
      sender: { id: sender.number ?? sender.id, ...(typeof pushName === "string" && pushName !== "" ? { name: pushName } : {}) },
      text,
      platformId: platformIdOf(id, isGroup(chat) ? from : undefined),
      dedupKey: `${own.number}/${place}/${sender.id}/${id}`,
      ...(mentions.length === 0 ? {} : { mentions }),
      ...(media.length === 0 ? {} : { media }),
      ...replyOf(context, vendor),
    },
  };
}

const isOwn = (address: string, { number, hidden }: Own): boolean => {
  const { user } = partsOf(address);
  return user === number || user === hidden;
};

function withoutOwnName(text: string, { number, hidden }: Own): string {
  const names = [number, hidden].filter((name) => name !== undefined && name !== "");
  return text.replace(new RegExp(`@(?:${names.join("|")})\\b[,:]?\\s*`, "g"), "").trim() || text;
}

/** The words of a message, of any kind that has some. */
export function wordsOf(content: proto.IMessage): string {
  const place = content.locationMessage ?? content.liveLocationMessage;
  return (
    content.conversation ||
    content.extendedTextMessage?.text ||
    content.imageMessage?.caption ||
    content.videoMessage?.caption ||
    content.documentMessage?.caption ||
    (place === null || place === undefined ? "" : locationOf(place)) ||
    (content.contactMessage?.displayName ? `Contact: ${content.contactMessage.displayName}` : "") ||
    ""
  );
}

const locationOf = ({ degreesLatitude, degreesLongitude, ...rest }: proto.Message.ILocationMessage): string =>
  `Location: ${[degreesLatitude, degreesLongitude].join(", ")}${typeof rest.name === "string" ? ` (${rest.name})` : ""}`;

function contextOf(content: proto.IMessage): proto.IContextInfo | undefined {
  const { extendedTextMessage, imageMessage, videoMessage, documentMessage, audioMessage, stickerMessage } = content;
  return (extendedTextMessage ?? imageMessage ?? videoMessage ?? documentMessage ?? audioMessage ?? stickerMessage)?.contextInfo ?? undefined;
}

function replyOf(context: proto.IContextInfo | undefined, vendor: Vendor): Pick<Message, "replyTo"> {
  if (typeof context?.stanzaId !== "string" || context.stanzaId === "") return {};
  const quoted = vendor.normalizeMessageContent(context.quotedMessage ?? undefined);
  const text = quoted === undefined || quoted === null ? "" : wordsOf(quoted);
  return { replyTo: { platformId: context.stanzaId, ...(text === "" ? {} : { text }) } };
}

/** The files of a message. Their bytes are fetched when the turn begins. */
function mediaOf(content: proto.IMessage): Media[] {
  const found: [Media["kind"], "image" | "video" | "audio" | "document" | "sticker", proto.Message.IDocumentMessage | null | undefined][] = [
    ["image", "image", content.imageMessage],
    ["image", "sticker", content.stickerMessage],
    ["video", "video", content.videoMessage],
    ["audio", "audio", content.audioMessage],
    ["file", "document", content.documentMessage],
  ];
  return found.flatMap(([kind, type, file]) => {
    const handle = file === null || file === undefined ? undefined : handleOf(type, file);
    if (handle === undefined || file === null || file === undefined) return [];
    const size = Number(file.fileLength ?? 0);
    const mime = file.mimetype?.split(";")[0];
    return [
      {
        kind: kind === "file" && mime?.startsWith("image/") ? "image" : kind,
        handle,
        ...(file.fileName ? { name: file.fileName } : {}),
        ...(mime === undefined || mime === "" ? {} : { type: mime }),
        ...(size > 0 ? { size } : {}),
      },
    ];
  });
}
