import type { ChoiceButton } from "./choices.ts";
import type { Media, Target } from "./messages.ts";

/** What a platform can do. The kernel reads this and does the rest: splitting, pacing, ordering, retrying. */
export interface ChannelTraits {
  /** The longest text of one message, counted in `unit`. */
  readonly maxChars: number;
  readonly unit: "codepoint" | "utf16" | "utf8";
  /** `one`: a message has no line breaks (IRC, SMS gateways): each line becomes a message of its own. Default `many`. */
  readonly lines?: "many" | "one";
  /**
   * What the kernel renders markdown to before `send` and `edit`: the platform's own `markup`, else a `dialect` that needs none. One of the
   * two must be there; `markup` wins.
   */
  readonly markup?: Markup;
  readonly dialect?: Dialect;
  /** Smallest pause between two edits of a message, in milliseconds. Unset: the platform has no edits; only the final text is sent. */
  readonly editIntervalMs?: number;
  /**
   * It shows in its own way that a message still grows, and wants to know when it is whole: see `Outgoing.grows`. The message then gets a
   * last `edit` also where its text did not change.
   */
  readonly streams?: true;
  readonly threads?: boolean;
  readonly reactions?: boolean;
  /** An emoji that `react` puts on each message that came in, once it is stored: best effort, once a message, within two minutes. */
  readonly ack?: string;
  /** It shows `Outgoing.choices` as buttons. Unset: the kernel writes them as numbered lines, and a number that is typed there is the answer. */
  readonly choices?: true;
  /** `false`: nothing comes in here. Choices are then shown without being asked for. */
  readonly receives?: false;
  /** The largest file it takes, in bytes. Unset: it takes none. */
  readonly maxMediaBytes?: number;
  /** `send` honours `Outgoing.key`: the same key twice is one effect at the platform. */
  readonly keyed?: boolean;
}

/** `plain`: the words alone. `markdown`: as it came. Channels built against generation 1 of the API may name four platforms besides. */
export type Dialect = "plain" | "markdown";

/**
 * How a platform writes what markdown means: data, so that it can cross into other processes. In each form `{}` stands for the words,
 * which are escaped by then; a form that is left out writes the words alone, unless its own sentence says otherwise.
 */
export interface Markup {
  /** What is written in place of signs that the platform would take for markup, by where they stand. */
  readonly escapes?: {
    readonly words?: Readonly<Record<string, string>>;
    /** Besides, for signs at the start of a line of words. */
    readonly lineStart?: Readonly<Record<string, string>>;
    readonly code?: Readonly<Record<string, string>>;
    readonly block?: Readonly<Record<string, string>>;
    /** Besides, for the words of a link, which are written in full by then. */
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
  /** In place of `block` where the language is named; it stands at `{language}`. */
  readonly blockWithLanguage?: string;
  /** The address stands at `{address}`. Default `{} ({address})`. */
  readonly link?: string;
  /** A link whose words are its address is written as these words, as they are. Without a `link` of its own that is always so. */
  readonly linkOnce?: true;
  /** By level; the last one counts for all that are deeper. */
  readonly headings?: readonly string[];
  /** With `{}`: around the quote. Without: before each of its lines. Default `> `. */
  readonly quote?: string;
  /** Default `-`. */
  readonly bullet?: string;
  /** Default `---`. */
  readonly rule?: string;
  /** `shown`: the platform counts what is left once it has read the markup. Default: what is sent. */
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
   * Buttons below the text, where the traits say `choices`. A pressed one comes back as `Message.choice`: `choiceOf` makes it of the
   * button's `data`. An edit without them takes the buttons away.
   */
  readonly choices?: readonly ChoiceButton[];
  /** Stable over retries and restarts. */
  readonly key: string;
  /** Of a channel with `traits.streams`: the answer goes on, and the last call for this message will come without. */
  readonly grows?: true;
  /** The agent whose words these are; unset for those of the service itself. */
  readonly agent?: string;
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
  /**
   * The bytes of a file that came with a message by its `handle`; the rest of `media` is what the message said of it. Asked once a file, before
   * the turn of its message, and again after `retry` and `unknown`. At most 25 MB of one turn are taken.
   */
  fetchMedia?(media: Media, signal: AbortSignal): Promise<{ readonly data: Uint8Array; readonly type?: string }>;
  /** A cheap question to the platform (who am I), for `svc channel test`. */
  test?(signal: AbortSignal): Promise<string>;
}

/** Given back by `provide.channel`: the plugin tells when sends may go out. Until `ready` the outbox waits. */
export interface ChannelHandle {
  /** `note`: what an operator should know of it all the same, such as that it listens to nobody yet; shown beside its state. */
  ready(note?: string): void;
  down(reason: string): void;
}
