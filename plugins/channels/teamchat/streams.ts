import { isRefused } from "./failure.ts";
import { unalerting } from "./mrkdwn.ts";
import type { WebApi } from "./web-api.ts";

/** A message to be shown as one that grows. */
export interface Beginning {
  readonly chat: string;
  readonly thread: string;
  readonly markdown: string;
}

/** Metadata and blocks that a message gets at its end. */
export interface StreamEnd {
  readonly metadata: unknown;
  readonly blocks: readonly object[];
}

/** Messages that the platform shows as being written, which can be appended to. */
export interface Streams {
  /** Resolves with its id; undefined where this workspace has no such messages. */
  begin(message: Beginning, signal: AbortSignal): Promise<string | undefined>;
  /** True where the message shows `markdown` now; with `grows` false it has ended, too. False: it is no such message (any more). */
  show(chat: string, ts: string, markdown: string, grows: boolean, end: StreamEnd, signal: AbortSignal): Promise<boolean>;
  has(chat: string, ts: string): boolean;
  /** Ends a message that an earlier process left open; false where it was not. */
  end(chat: string, ts: string, signal: AbortSignal): Promise<boolean>;
  /** Ends all that are open: nothing will be appended any more. */
  close(): Promise<void>;
}

interface Stream {
  readonly chat: string;
  /** Text that is shown. */
  sent: string;
}

/** The workspace or the app has no such messages; others are edited there. */
const NOT_HERE = [
  "unknown_method",
  "method_not_supported_for_channel_type",
  "not_allowed_token_type",
  "feature_not_enabled",
  "team_not_supported",
  "missing_scope",
];
const MOST = 200;
const CLOSE_MS = 2_000;

/** Makes the streams of one workspace. */
export function createStreams(api: WebApi): Streams {
  const open = new Map<string, Stream>();
  let here = true;
  const keyOf = (chat: string, ts: string) => `${chat}/${ts}`;

  async function stop(chat: string, ts: string, more: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<boolean> {
    open.delete(keyOf(chat, ts));
    try {
      await api.call("chat.stopStream", { channel: chat, ts, ...more }, { signal, writes: true });
      return true;
    } catch (error) {
      // The platform ends one by itself after some minutes.
      if (isRefused(error, "message_not_in_streaming_state", ...NOT_HERE)) return false;
      throw error;
    }
  }

  return {
    async begin({ chat, thread, markdown }, signal) {
      if (!here) return undefined;
      const sent = growing(unalerting(markdown));
      try {
        const { ts } = await api.call<{ ts: string }>("chat.startStream", { channel: chat, thread_ts: thread, markdown_text: sent }, { signal, writes: true });
        open.set(keyOf(chat, ts), { chat, sent });
        if (open.size > MOST) open.delete(open.keys().next().value as string);
        return ts;
      } catch (error) {
        if (!isRefused(error, ...NOT_HERE, "invalid_arguments")) throw error;
        here = false;
        return undefined;
      }
    },
    async show(chat, ts, markdown, grows, { metadata, blocks }, signal) {
      const stream = open.get(keyOf(chat, ts));
      if (stream === undefined) return false;
      const whole = unalerting(markdown);
      const wanted = grows ? growing(whole) : whole;
      if (!wanted.startsWith(stream.sent)) {
        // Shown text cannot be shortened: end the stream, and edit from now on.
        await stop(chat, ts, {}, signal);
        return false;
      }
      const more = wanted.slice(stream.sent.length);
      if (!grows) return stop(chat, ts, { ...(more === "" ? {} : { markdown_text: more }), ...(blocks.length === 0 ? {} : { blocks }), metadata }, signal);
      if (more === "") return true;
      try {
        await api.call("chat.appendStream", { channel: chat, ts, markdown_text: more }, { signal, writes: true });
      } catch (error) {
        // Whether it took this is not known: only an edit makes sure.
        open.delete(keyOf(chat, ts));
        if (isRefused(error, "message_not_in_streaming_state")) return false;
        if ((error as { failure?: string }).failure === "unknown") throw error;
        open.set(keyOf(chat, ts), stream);
        throw error;
      }
      stream.sent = wanted;
      return true;
    },
    has: (chat, ts) => open.has(keyOf(chat, ts)),
    end: (chat, ts, signal) => stop(chat, ts, {}, signal),
    async close() {
      const signal = AbortSignal.timeout(CLOSE_MS);
      await Promise.allSettled([...open].map(([key, { chat }]) => stop(chat, key.slice(chat.length + 1), {}, signal)));
    },
  };
}

/** An open fence is closed at the end of a text that grows: that line is not said before the text goes on or ends. */
const growing = (markdown: string): string => markdown.replace(/\n(?:`{3,}|~{3,})\s*$/, "\n");
