import type { Target } from "@svc/sdk";
import { conversationKey } from "./outbox-entry.ts";

/** Rate limit of a conversation. The limits are learned from the platform's refusals; none are hard-coded. */
export interface Pace {
  /** Milliseconds to wait before the next send or edit to that conversation; 0 when it is free. */
  wait(target: Target): number;
  /**
   * Handles a temporary refusal by the platform: the conversation waits for at least `retryAfterMs`, up to a day, or with exponential backoff if it is
   * undefined, and if it is next to nothing time and again.
   * A refusal of a second conversation while the first still waits means that the whole account is over its limit: then all of it waits.
   */
  refused(target: Target, retryAfterMs: number | undefined): void;
  /** The platform took something; the conversation rests for `restMs`. */
  passed(target: Target, restMs: number): void;
}

interface Hold {
  readonly until: number;
  readonly refusals: number;
  /** The platform named a time: a rate limit, not just trouble. */
  readonly limited?: boolean;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** A shorter time is none. Channels name 200 ms where an earlier message of a thread comes first, and are asked again after just that. */
const SHORTEST_NAMED_MS = 100;
/** A platform that names a longer time is asked once a day. */
const LONGEST_NAMED_MS = 86_400_000;
const REMEMBERED = 1_000;

/** A pause that doubles with each failure in a row, up to five minutes, spread by up to a fifth so that many waiters do not return at once. */
export function backoffMs(failures: number, random: () => number = Math.random): number {
  return spread(Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures, 20), LONGEST_PAUSE_MS), random);
}

const spread = (ms: number, random: () => number) => Math.round(ms * (1 + random() / 5));

/** `now` must run evenly: a pause by a clock that can be set would be as long as that clock was set back. */
export function createPace(
  now: () => number,
  random: () => number = Math.random,
  backoff: (failures: number) => number = (failures) => backoffMs(failures, random),
): Pace {
  const conversations = new Map<string, Hold>();
  const accounts = new Map<string, Hold>();
  const accountOf = ({ channel, account }: Target) => JSON.stringify([channel, account ?? ""]);
  const keyOf = (target: Target) => accountOf(target) + conversationKey(target);

  /** Conversations come and go: those whose pause is over are forgotten once there are many. */
  const tidy = () => {
    if (conversations.size <= REMEMBERED) return;
    for (const [key, hold] of conversations) if (hold.until <= now()) conversations.delete(key);
  };

  return {
    wait(target) {
      const until = Math.max(conversations.get(keyOf(target))?.until ?? 0, accounts.get(accountOf(target))?.until ?? 0);
      return Math.max(0, until - now());
    },
    refused(target, retryAfterMs) {
      const key = keyOf(target);
      const account = accountOf(target);
      const refusals = (conversations.get(key)?.refusals ?? 0) + 1;
      const limited = retryAfterMs !== undefined;
      const named = Math.min(retryAfterMs ?? 0, LONGEST_NAMED_MS);
      // Refused once more after hardly a pause: the platform's word alone would make a loop of it.
      const least = named < SHORTEST_NAMED_MS && refusals > 1 ? backoff(refusals - 2) : 0;
      const pause = limited ? Math.max(spread(named, random), least) : backoff(refusals - 1);
      const until = now() + pause;
      const others = limited && [...conversations].some(([other, hold]) => hold.limited && hold.until > now() && other !== key && other.startsWith(account));
      conversations.set(key, { until, refusals, limited });
      if (others) accounts.set(account, { until: Math.max(until, accounts.get(account)?.until ?? 0), refusals: 1 });
      tidy();
    },
    passed(target, restMs) {
      const key = keyOf(target);
      const until = Math.max(conversations.get(key)?.until ?? 0, now() + restMs);
      if (until > now()) conversations.set(key, { until, refusals: 0 });
      else conversations.delete(key);
      tidy();
    },
  };
}
