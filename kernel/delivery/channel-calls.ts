import { type ChannelFailure, type Outgoing, reasonOf, type Target } from "@svc/sdk";
import { inScope } from "../core/host/call.ts";
import type { ProvidedChannel } from "../core/host/scope.ts";

/** Result of one call to a platform. */
export type CallAnswer<T> = { readonly ok: true; readonly value: T } | SendRefusal;

/** A call that the platform refused, or that brought no answer. */
export interface SendRefusal {
  readonly ok: false;
  readonly failure: ChannelFailure;
  readonly reason: string;
  readonly retryAfterMs?: number;
}

/** Longest time one call to a platform may take, in milliseconds. */
export const CALL_LIMIT_MS = 60_000;

/** Calls to one channel. Never rejects; an error without a failure class may mean that the message arrived: `unknown`. */
export interface ChannelCalls {
  send(out: Outgoing): Promise<CallAnswer<string>>;
  edit(platformId: string, out: Outgoing): Promise<CallAnswer<void>>;
  react(target: Target, platformId: string, emoji: string): Promise<CallAnswer<void>>;
  /** Take a message back; where the platform cannot, empty it. */
  remove(platformId: string, out: Outgoing): Promise<CallAnswer<void>>;
}

/** Stops waiting at the limit, when `stop` aborts, and when the plugin is stopped: the plugin gets an abort signal and is not awaited. */
export function createChannelCalls({ thing: channel, scope }: ProvidedChannel, stop: AbortSignal, limitMs: number = CALL_LIMIT_MS): ChannelCalls {
  const ask = <T>(work: (signal: AbortSignal) => Promise<T>): Promise<CallAnswer<T>> =>
    new Promise((resolve) => {
      const own = new AbortController();
      const over = (answer: CallAnswer<T>) => {
        clearTimeout(timer);
        stop.removeEventListener("abort", cut);
        scope.abort.signal.removeEventListener("abort", cut);
        resolve(answer);
      };
      const end = (reason: string) => {
        own.abort(new Error(reason));
        over({ ok: false, failure: "unknown", reason });
      };
      const cut = () => end("it was stopped while it was in flight");
      const timer = setTimeout(() => end(`no answer within ${limitMs} ms`), limitMs);
      stop.addEventListener("abort", cut, { once: true });
      scope.abort.signal.addEventListener("abort", cut, { once: true });
      if (stop.aborted || scope.abort.signal.aborted) return over({ ok: false, failure: "retry", reason: "it was stopped before it was sent" });
      inScope(scope, async () => work(own.signal)).then(
        (value) => over({ ok: true, value }),
        (error) => over(refusalOf(error)),
      );
    });

  /** Markup that the platform does not take must not cost the words. */
  const orPlain = async <T>(out: Outgoing, work: (out: Outgoing, signal: AbortSignal) => Promise<T>): Promise<CallAnswer<T>> => {
    const first = await ask((signal) => work(out, signal));
    if (first.ok || first.failure !== "format") return first;
    const second = await ask((signal) => work({ ...out, text: out.plain }, signal));
    return second.ok || second.failure !== "format" ? second : { ...second, failure: "permanent" };
  };

  const edit = (platformId: string, out: Outgoing) => orPlain(out, async (one, signal) => channel.edit?.(platformId, one, signal));
  return {
    async send(out) {
      const answer = await orPlain(out, (one, signal) => channel.send(one, signal));
      // If the platform returns no id, ours identifies the message.
      return answer.ok ? { ok: true, value: answer.value.platformId ?? out.key } : answer;
    },
    edit,
    react: (target, platformId, emoji) => ask(async (signal) => channel.react?.(target, platformId, emoji, signal)),
    remove(platformId, out) {
      if (channel.remove !== undefined) return ask(async (signal) => channel.remove?.(out.target, platformId, signal));
      return edit(platformId, { ...out, text: "…", plain: "…" });
    },
  };
}

const FAILURES: ReadonlySet<unknown> = new Set<ChannelFailure>(["retry", "permanent", "format", "unknown"]);

function refusalOf(error: unknown): SendRefusal {
  const { failure, retryAfterMs } = (error ?? {}) as { failure?: ChannelFailure; retryAfterMs?: number };
  return {
    ok: false,
    failure: failure !== undefined && FAILURES.has(failure) ? failure : "unknown",
    reason: reasonOf(error),
    ...(typeof retryAfterMs === "number" && retryAfterMs >= 0 ? { retryAfterMs } : {}),
  };
}
