import { createHash } from "node:crypto";
import { type Delivery, type Media, type Op, push, type Target } from "@svc/sdk";

type StoredMedia = Omit<Media, "data"> & { readonly data?: string };

/** A delivery in the outbox. Plain JSON: bytes of attachments are base64. */
export interface OutboxEntry {
  readonly delivery: Omit<Delivery, "media"> & { readonly media?: readonly StoredMedia[] };
  /** When it was handed over, in the store's steady milliseconds: its age counts from here, over restarts too. */
  readonly at: number;
  /** Under which key its progress is kept; the growing reply of a task uses the task id. */
  readonly progress: string;
  /** The root event it belongs to. */
  readonly rootId?: string;
  /** Sends that failed and count. Waiting for a platform's own rate limit does not. */
  readonly tries: number;
  /** Sends that the platform may have taken without our hearing of it. */
  readonly doubts?: number;
}

/** The queue of a channel. One a channel: what waits for one that is not connected is never claimed. */
export const outboxOf = (channel: string): string => `outbox/${channel}`;

/** Deliveries to one conversation of a channel keep their order; those to others go on without them. */
export const conversationKey = ({ account, chat, thread }: Target): string => JSON.stringify([account ?? "", chat, thread ?? ""]);

/** The write that puts an entry into its channel's outbox. */
export function pushEntry(entry: OutboxEntry): Op {
  const { id, target } = entry.delivery;
  return push(outboxOf(target.channel), id, entry, { group: conversationKey(target) });
}

/** The writes of a delivery with a key: they conflict where it was handed over before. */
export const onceFor = (key: string | undefined, ops: readonly Op[]): readonly Op[] =>
  key === undefined ? ops : ops.map((op) => (op.op === "push" ? { ...op, options: { ...op.options, dedupKey: `key:${key}` } } : op));

/** The id of a delivery with that key. */
export const idOfKey = (key: string): string =>
  `out_${createHash("sha256")
    .update(key)
    .digest("hex")
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, "$1-$2-$3-$4-$5")}`;

/** A new entry for a delivery. */
export function sealEntry(delivery: Delivery, facts: Pick<OutboxEntry, "at" | "progress" | "rootId">): OutboxEntry {
  const { media, ...rest } = delivery;
  return { delivery: media === undefined ? rest : { ...rest, media: media.map(storeMedia) }, tries: 0, ...facts };
}

/** The delivery as it was handed over, bytes restored. */
export function openEntry({ delivery }: OutboxEntry): Delivery {
  const { media, ...rest } = delivery;
  return media === undefined ? rest : { ...rest, media: media.map(restoreMedia) };
}

function storeMedia({ data, ...rest }: Media): StoredMedia {
  return data === undefined ? rest : { ...rest, data: Buffer.from(data).toString("base64") };
}

function restoreMedia({ data, ...rest }: StoredMedia): Media {
  return data === undefined ? rest : { ...rest, data: Buffer.from(data, "base64") };
}

/** Tells whether a platform message already shows a text, without keeping the text. One that grows there is not the same as one that is whole. */
export const digestOf = (text: string, grows = false): string =>
  createHash("sha256")
    .update(grows ? `${text}\0` : text)
    .digest("base64url")
    .slice(0, 16);
