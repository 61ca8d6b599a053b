import type { ChoiceButton } from "./choices.ts";
import type { Media, Target } from "./messages.ts";

/** Traits of a platform. The kernel reads them and does the splitting, pacing, ordering and retrying. */
export interface ChannelTraits {
  /** The longest text of one message, counted in `unit`. */
  readonly maxChars: number;
  readonly unit: "codepoint" | "utf16" | "utf8";
  /** `one`: a message has no line breaks (IRC, SMS gateways): each line becomes a message of its own. Default `many`. */
  readonly lines?: "many" | "one";
  /**
   * Target of the kernel's markdown rendering before `send` and `edit`: the platform's own `markup`, else a built-in `dialect`. At least one is
   * required; `markup` wins.
   */
  readonly markup?: Markup;
  readonly dialect?: Dialect;
  /** Smallest pause between two edits of a message, in milliseconds. Unset: the platform has no edits; only the final text is sent. */
  readonly editIntervalMs?: number;
  /**
   * The platform has its own display for a message that still grows, and needs to know when it is complete: see `Outgoing.grows`. The message then
   * gets a last `edit` also where its text did not change.
   */
  readonly streams?: true;
  readonly threads?: boolean;
  readonly reactions?: boolean;
  /** An emoji that `react` adds to each received message once it is stored: best effort, once a message, within two minutes. */
  readonly ack?: string;
  /** The platform shows `Outgoing.choices` as buttons. Unset: the kernel writes them as numbered lines, and a typed number is the answer. */
  readonly choices?: true;
  /** `false`: the channel receives no messages. Choices are then listed, but cannot be answered. */
  readonly receives?: false;
  /** Size limit of a file in bytes. Unset: the platform accepts no files. */
  readonly maxMediaBytes?: number;
  /** `send` honours `Outgoing.key`: the same key twice is one effect at the platform. */
  readonly keyed?: boolean;
}

/** `plain`: the text alone. `markdown`: unchanged. Channels built against generation 1 of the API may name four platforms besides. */
export type Dialect = "plain" | "markdown";

/**
 * Markup of a platform: data, so that it can cross process boundaries. In each form `{}` stands for the text, already escaped; an omitted form writes
 * the text alone, unless its own comment says otherwise.
 */
export interface Markup {
  /** Replacements for characters that the platform would take for markup, by position. */
  readonly escapes?: {
    readonly words?: Readonly<Record<string, string>>;
    /** Besides, for signs at the start of a line of words. */
    readonly lineStart?: Readonly<Record<string, string>>;
    readonly code?: Readonly<Record<string, string>>;
    readonly block?: Readonly<Record<string, string>>;
    /** Additional replacements for the text of a link, which is written in full by then. */
    readonly label?: Readonly<Record<string, string>>;
    /** For the address of a link. */
    readonly address?: Readonly<Record<string, string>>;
  };
  readonly bold?: string;
  readonly italic?: string;
  readonly strike?: string;
  readonly code?: string;
  /** In place of `code` where the words hold a backtick. */
  readonly codeWithTicks?: string;
  /** A block of code, and a table as a grid of words. */
  readonly block?: string;
  /** Replaces `block` where the language is known; `{language}` stands for it. */
  readonly blockWithLanguage?: string;
  /** Form of a link, `{address}` is its address. Default `{} ({address})`. */
  readonly link?: string;
  /** Writes a link whose text is its address as this text alone. Always so without a `link` form. */
  readonly linkOnce?: true;
  /** By level; the last one counts for all that are deeper. */
  readonly headings?: readonly string[];
  /** With `{}`: around the quote. Without: before each of its lines. Default `> `. */
  readonly quote?: string;
  /** Default `-`. */
  readonly bullet?: string;
  /** Default `---`. */
  readonly rule?: string;
  /** What the length limit counts. `shown`: the text after the platform has parsed the markup. Default: the text as sent. */
  readonly counts?: "shown";
}

/** One platform message to send or the new content of one already sent. `text` is already split and rendered. */
export interface Outgoing {
  readonly target: Target;
  readonly text: string;
  /** The same words without markup, for the fallback after a format error. */
  readonly plain: string;
  /** At most one file; `text` is empty then. */
  readonly media?: readonly Media[];
  /**
   * Buttons below the text, with `traits.choices`. A press comes back as `Message.choice`: `choiceOf` parses the button's `data`. An edit without
   * choices removes the buttons.
   */
  readonly choices?: readonly ChoiceButton[];
  /** Stable over retries and restarts. */
  readonly key: string;
  /** For a channel with `traits.streams`: the answer still grows; the last call for this message comes without it. */
  readonly grows?: true;
  /** The agent whose words these are; unset for those of the service itself. */
  readonly agent?: string;
  readonly title?: string;
  readonly priority?: number;
}

/** Answer of the platform to a send. */
export interface Receipt {
  /** Key for editing or removing the message. Omitted where the platform returns none: then the channel has neither `edit` nor `remove`. */
  readonly platformId?: string;
}

/**
 * Class of a failed send, thrown as an error with these properties (`channelError` makes one). `retry`: try again, after `retryAfterMs` where the
 * platform named a time. `permanent`: never again. `format`: the markup was refused; the kernel sends `plain`. `unknown`: it may have arrived (a cut
 * connection).
 */
export type ChannelFailure = "retry" | "permanent" | "format" | "unknown";

/** A way to reach people. Everything but `send` is optional. */
export interface Channel {
  readonly name: string;
  readonly traits: ChannelTraits;
  /** Resolves only after the platform accepted it. */
  send(out: Outgoing, signal: AbortSignal): Promise<Receipt>;
  /** Resolves too when the message shows that text already. `permanent`: the message can no longer be edited; the kernel sends it anew. */
  edit?(platformId: string, out: Outgoing, signal: AbortSignal): Promise<void>;
  /** Removes one of our messages, where an answer became shorter than the part already shown. */
  remove?(target: Target, platformId: string, signal: AbortSignal): Promise<void>;
  react?(target: Target, platformId: string, emoji: string, signal: AbortSignal): Promise<void>;
  typing?(target: Target, signal: AbortSignal): Promise<void>;
  /**
   * Downloads a file of a message by its `handle`; the rest of `media` is the message's description of it. Called once a file, before the turn of its
   * message, and again after `retry` and `unknown`. At most 25 MB of one turn are accepted.
   */
  fetchMedia?(media: Media, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;
  /** A cheap request to the platform (such as "who am I"), for `svc channel test`. */
  test?(signal: AbortSignal): Promise<string>;
}

/** Returned by `provide.channel`: the plugin reports when it can send. Until `ready` the outbox waits. */
export interface ChannelHandle {
  /** `note`: a hint for the operator despite the ready state, such as that the allow list is empty; shown beside the state. */
  ready(note?: string): void;
  down(reason: string): void;
}
