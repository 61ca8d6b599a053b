import type { Log, Outgoing, Target } from "@svc/sdk";
import type { ChannelRender } from "../base/channel-render.ts";
import type { ReplyStream } from "../core/flow/deliveries-port.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";
import { createChannelCalls, type SendRefusal } from "./channel-calls.ts";
import { digestOf } from "./outbox-entry.ts";
import type { Pace } from "./pace.ts";
import { partsOf } from "./parts.ts";
import { type ProgressBook, type Shown, withShown } from "./progress.ts";

/** Dependencies of a growing reply. */
export interface StreamDeps {
  readonly pace: Pace;
  readonly book: ProgressBook;
  readonly log: Log;
  /** Time that the end waits for a call in progress before it aborts it, in milliseconds. */
  readonly graceMs: number;
  /** The agent whose answer it is. */
  readonly agent: string;
  render(): ChannelRender;
  /** Whether something waits for that conversation that was said before. */
  behind(target: Target): Promise<boolean>;
}

/** New code points after which the shown text is updated. */
const BLOCK = 60;
/** Failures in a row after which the rest of the answer waits for its end. */
const PATIENCE = 3;
/** Interval of checking whether earlier deliveries have been sent. */
const BEHIND_MS = 1_000;
/** Platforms show a typing indicator for about five seconds. */
const TYPING_EVERY_MS = 4_500;
/** Long enough for an answer without an engine to complete: it must not wait behind the call. */
const TYPING_AFTER_MS = 100;
const TYPING_AT_MOST_MS = 600_000;

/**
 * Shows an answer while it grows: the first block is sent, the next ones are edits of it, and the rest continues in a further message. It only ever
 * shows a prefix of the answer; the outbox sends the whole of it, finds the messages sent here by the task id, and has priority: while it has a
 * delivery for the conversation, none is started here. A failure is never an error: the stream stops and the outbox sends.
 */
export function createStream(target: Target, taskId: string, provided: ProvidedChannel, deps: StreamDeps): ReplyStream {
  const { pace, book, log } = deps;
  const { thing: channel } = provided;
  const { traits } = channel;
  const cut = new AbortController();
  const calls = createChannelCalls(provided, cut.signal);
  const edits = channel.edit !== undefined && traits.editIntervalMs !== undefined;
  const restMs = traits.editIntervalMs ?? 0;
  let text = "";
  let offered = 0;
  let progress: Shown | undefined;
  let unsaved = false;
  let failures = 0;
  let silent = !edits;
  let behindMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let step: Promise<void> | undefined;
  let ended = false;
  const stopTyping = startTyping(target, provided);

  function schedule(): void {
    if (silent || ended || timer !== undefined || step !== undefined || text.length - offered < BLOCK) return;
    timer = setTimeout(
      () => {
        timer = undefined;
        step = show().finally(() => {
          step = undefined;
          schedule();
        });
      },
      Math.max(behindMs, pace.wait(target)),
    );
  }

  /** One call to the platform: for the first message that does not show the current text yet. */
  async function show(): Promise<void> {
    if (pace.wait(target) > 0) return;
    try {
      progress ??= await book.load(taskId);
      if (progress.sending) {
        // A block of an earlier run may be there without our knowing its id: only the outbox can settle that.
        silent = true;
        return;
      }
      behindMs = progress.ids.length === 0 && (await deps.behind(target)) ? BEHIND_MS : 0;
      if (behindMs > 0) return;
      const upTo = Math.max(offered, wordEnd(text));
      const parts = partsOf(text.slice(0, upTo), traits, deps.render());
      const grows = (at: number) => traits.streams === true && at === parts.length - 1;
      const index = parts.findIndex((part, at) => progress?.shown[at] !== digestOf(part.text, grows(at)));
      const part = parts[index];
      if (part === undefined) {
        offered = upTo;
        return;
      }
      const { replyTo: _replyTo, ...sequel } = target;
      const out: Outgoing = {
        target: index === 0 ? target : sequel,
        ...part,
        key: `${taskId}/${index}`,
        agent: deps.agent,
        ...(grows(index) ? { grows: true } : {}),
      };
      await put(index, out);
      if (index === parts.length - 1) offered = upTo;
    } catch (error) {
      silent = true;
      log.error({ channel: channel.name, task: taskId, err: error }, "an answer could not be shown while it grows; it is sent when it is whole");
    }
  }

  async function put(index: number, out: Outgoing): Promise<void> {
    const had = progress as Shown;
    const known = had.ids[index];
    if (known === undefined) {
      progress = { ...had, sending: true };
      await book.save(taskId, progress);
    }
    stopTyping();
    const answer = known === undefined ? await calls.send(out) : await calls.edit(known, out);
    if (!answer.ok) return refused(answer, had, index);
    failures = 0;
    pace.passed(target, restMs);
    progress = withShown(had, index, known ?? (answer.value as string), digestOf(out.text, out.grows));
    if (known === undefined) await book.save(taskId, progress);
    else unsaved = true;
  }

  async function refused(refusal: SendRefusal, had: Shown, index: number): Promise<void> {
    const { failure, reason, retryAfterMs } = refusal;
    const sending = had.ids[index] === undefined;
    log.debug({ channel: channel.name, task: taskId, failure, reason }, "a block of a growing answer was refused");
    pace.refused(target, retryAfterMs);
    if (retryAfterMs === undefined) failures += 1;
    // A send that may have arrived is not repeated here: the outbox does it, by the same key or with a word about a possible duplicate.
    silent = failure === "permanent" || failures >= PATIENCE || (sending && failure === "unknown");
    if (sending && failure !== "unknown") {
      progress = had;
      await book.save(taskId, had);
    }
    if (!sending && failure === "unknown") {
      // The message may show the new text or the old one: assume neither.
      progress = withShown(had, index, had.ids[index] as string, "");
      unsaved = true;
    }
  }

  return {
    text(delta) {
      text += delta;
      schedule();
    },
    async end() {
      if (ended) return;
      ended = true;
      stopTyping();
      clearTimeout(timer);
      const grace = setTimeout(() => cut.abort(), deps.graceMs);
      await step;
      clearTimeout(grace);
      if (unsaved && progress !== undefined)
        await book.save(taskId, progress).catch((error) => log.error({ task: taskId, err: error }, "what was shown of an answer was not stored"));
    },
  };
}

/** Returns the end of the last whole word, so that no half word or half markup is shown; a long run without spaces is shown as it is. */
function wordEnd(text: string): number {
  const at = text.search(/\s\S*$/);
  if (at !== -1 && text.length - at < BLOCK) return at;
  // Never between the two halves of a surrogate pair.
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;
}

function startTyping(target: Target, { thing: channel }: ProvidedChannel): () => void {
  if (channel.typing === undefined) return () => {};
  const own = new AbortController();
  const tell = () => void Promise.resolve(channel.typing?.(target, own.signal)).catch(() => {});
  const first = setTimeout(tell, TYPING_AFTER_MS);
  const every = setInterval(tell, TYPING_EVERY_MS);
  const enough = setTimeout(() => stop(), TYPING_AT_MOST_MS);
  every.unref();
  enough.unref();
  const stop = () => {
    clearTimeout(first);
    clearInterval(every);
    clearTimeout(enough);
    own.abort();
  };
  return stop;
}
