/** The queue of everything that is still to be done; one chat's work is a group. */
export const WORK = "work";
/** Messages that wait for their batch to be full, by `<batch>/<order>`. */
export const MESSAGES = "messages";
/** The batch of a rule and chat that still takes messages in. */
export const OPEN = "open";
/** Messages that were taken in, as digests: the tool may post one twice. */
export const SEEN = "seen";
/** Replies that wait for a person, by batch. */
export const REPLIES = "replies";
/** Batches whose reply is handed to the program: found again after a crash, it may have been sent. */
export const SENDING = "sending";

/** A chat, as a person knows it. */
export interface Chat {
  readonly chat: string;
  readonly chatName?: string;
}

/** A reply as it is sent, and nothing else (the digest of its question is of this). */
export interface Reply extends Chat {
  readonly text: string;
}

/** A step of the work on a batch. */
export type Work =
  /** Collects until it is due. */
  | ({ readonly step: "collect"; readonly batch: string; readonly rule: string } & Chat)
  /** The agent sorts. */
  | ({ readonly step: "sort"; readonly batch: string; readonly rule: string; readonly task: string } & Chat)
  /** Approved, or needs no approval. */
  | ({ readonly step: "send"; readonly batch: string; readonly agent: string } & Reply)
  /** Words for the operator, kept until quiet hours end. */
  | { readonly step: "tell"; readonly batch: string; readonly title: string; readonly text: string };

/** Returns the display name of the chat. */
export const nameOf = ({ chat, chatName }: Chat): string => (chatName === undefined ? chat : `${chatName} (${chat})`);
