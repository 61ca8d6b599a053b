import type { Message, Rejection } from "@svc/sdk";

/** Refuses messages of a bot that talks with an agent too much. Undefined: let it through. People are never refused. */
export type LoopGuard = (message: Message, agent: string) => Rejection | undefined;

const PAIRS = 1_000;

/**
 * Counts, for each pair of bot and agent in a chat, the bot's messages within a sliding window; those from before a clock was set back do not count.
 * Our replies and messages of people in between do not reset it: two bots that answer each other trip it in any case.
 */
export function createLoopGuard(options: { readonly limit?: number; readonly windowMs?: number; readonly now?: () => number } = {}): LoopGuard {
  const { limit = 10, windowMs = 300_000, now = () => performance.now() } = options;
  const pairs = new Map<string, number[]>();

  return (message, agent) => {
    const { sender, channel, account = "", chat } = message;
    if (sender?.bot !== true) return undefined;
    const pair = JSON.stringify([channel, account, chat, sender.id, agent]);
    const since = now() - windowMs;
    const recent = (pairs.get(pair) ?? []).filter((at) => at > since && at <= since + windowMs);
    if (recent.length >= limit) return { reject: `bot loop: ${limit} messages of this bot within ${Math.round(windowMs / 1000)} s` };
    recent.push(since + windowMs);
    pairs.set(pair, recent);
    if (pairs.size > PAIRS) for (const [key, times] of pairs) if ((times.at(-1) ?? 0) <= since) pairs.delete(key);
    return undefined;
  };
}
