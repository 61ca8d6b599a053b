import type { Media, Target } from "./messages.ts";

/** What a platform can do. The kernel reads this and does the rest: splitting, pacing, ordering, retrying. */
export interface ChannelTraits {
  /** The longest text of one message, counted in `unit`. */
  readonly maxChars: number;
  readonly unit: "codepoint" | "utf16" | "utf8";
  /** `one`: a message has no line breaks (IRC, SMS gateways): each line becomes a message of its own. Default `many`. */
  readonly lines?: "many" | "one";
  /** What the kernel renders markdown to before `send` and `edit`. */
  readonly dialect: Dialect;
  /** Smallest pause between two edits of a message, in milliseconds. Unset: the platform has no edits; only the final text is sent. */
  readonly editIntervalMs?: number;
  readonly threads?: boolean;
  readonly reactions?: boolean;
  /** The largest file it takes, in bytes. Unset: it takes none. */
  readonly maxMediaBytes?: number;
  /** `send` honours `Outgoing.key`: the same key twice is one effect at the platform. */
  readonly keyed?: boolean;
}

export type Dialect = "plain" | "markdown" | "html-telegram" | "mrkdwn" | "discord" | "whatsapp";

/** One platform message to send or the new content of one already sent. `text` is already split and rendered. */
export interface Outgoing {
  readonly target: Target;
  readonly text: string;
  /** The same words without markup, for the fallback after a format error. */
  readonly plain: string;
  /** At most one file; `text` is empty then. */
  readonly media?: readonly Media[];
  /** Stable over retries and restarts. */
  readonly key: string;
  readonly title?: string;
  readonly priority?: number;
}

/** What the platform said. */
export interface Receipt {
  /** By which the message can be edited or taken back. Left out where the platform names none: then the channel has neither `edit` nor `remove`. */
  readonly platformId?: string;
}

/**
 * Why a send failed, thrown as an error with these properties (`channelError` makes one).
 * `retry`: try again, after `retryAfterMs` where the platform named a time. `permanent`: never again.
 * `format`: the markup was refused; the kernel sends `plain`. `unknown`: it may have arrived (a cut connection).
 */
export type ChannelFailure = "retry" | "permanent" | "format" | "unknown";

/** A way to reach people. Everything but `send` is optional. */
export interface Channel {
  readonly name: string;
  readonly traits: ChannelTraits;
  /** Resolves only after the platform accepted it. */
  send(out: Outgoing, signal: AbortSignal): Promise<Receipt>;
  /** Resolves too when the message shows that text already. `permanent`: it cannot be edited any more, and is sent anew. */
  edit?(platformId: string, out: Outgoing, signal: AbortSignal): Promise<void>;
  /** Take back a message of ours, where an answer became shorter than what was shown of it. */
  remove?(target: Target, platformId: string, signal: AbortSignal): Promise<void>;
  react?(target: Target, platformId: string, emoji: string, signal: AbortSignal): Promise<void>;
  typing?(target: Target, signal: AbortSignal): Promise<void>;
  fetchMedia?(media: Media, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;
  /** A cheap question to the platform (who am I), for `svc channel test`. */
  test?(signal: AbortSignal): Promise<string>;
}

/** Given back by `provide.channel`: the plugin tells when sends may go out. Until `ready` the outbox waits. */
export interface ChannelHandle {
  ready(): void;
  down(reason: string): void;
}
