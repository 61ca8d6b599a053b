import { createHash } from "node:crypto";
import { type Delivery, type Media, type Op, push, type Target } from "@svc/sdk";

type StoredMedia = Omit<Media, "data"> & { readonly data?: string };

/** A delivery in the outbox. Plain JSON: bytes of attachments are base64. */
export interface OutboxEntry {
  readonly delivery: Omit<Delivery, "media"> & { readonly media?: readonly StoredMedia[] };
  /** Time of acceptance, in the store's steady milliseconds: its age counts from here, over restarts too. */
  readonly at: number;
  /** Under which key its progress is kept; the growing reply of a task uses the task id. */
  readonly progress: string;
  /** The root event it belongs to. */
  readonly rootId?: string;
  /** Sends that failed and count. Waiting for a platform's own rate limit does not. */
  readonly tries: number;
  /** Number of sends that the platform may have accepted without a confirmation. */
  readonly doubts?: number;
}

/** Returns the queue of a channel. One a channel: entries of a disconnected channel are never claimed. */
export const outboxOf = (channel: string): string => `outbox/${channel}`;

/** Deliveries to one conversation of a channel keep their order; those to others go on without them. */
export const conversationKey = ({ account, chat, thread }: Target): string => JSON.stringify([account ?? "", chat, thread ?? ""]);

/** The write that puts an entry into its channel's outbox. */
export function pushEntry(entry: OutboxEntry): Op {
  const { id, target } = entry.delivery;
  return push(outboxOf(target.channel), id, entry, { group: conversationKey(target) });
}

/** Adds the idempotency key to the writes of a delivery: they conflict if it was accepted before. */
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

/** Returns the delivery as it was accepted, bytes restored. */
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

/**
 * Returns a digest that detects whether a platform message already shows a text, without storing the text. A growing text and a complete one have
 * different digests.
 */
export const digestOf = (text: string, grows = false): string =>
  createHash("sha256")
    .update(grows ? `${text}\0` : text)
    .digest("base64url")
    .slice(0, 16);
