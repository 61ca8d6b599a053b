import type { Collection } from "@svc/sdk";

/** When one bot was answered in one place. Unix milliseconds. */
export interface Answered {
  readonly at: readonly number[];
}

/** Ends talk between bots: each answer of one is a reason to answer for the other. */
export interface BotTalk {
  /** False: this bot was answered often enough here for now. Counts it otherwise. */
  may(place: string, bot: string, message: string): Promise<boolean>;
}

/** So many answers to one bot in one place within ten minutes. */
export const BOT_ANSWERS = 6;
const WINDOW_MS = 600_000;

/** Makes it. Own answers and those of people do not begin the count anew: it is a window in time, kept over restarts. */
export function createBotTalk(rows: Collection<Answered>, now: () => number = Date.now): BotTalk {
  /** Counted in this process: the same message comes more than once. */
  const counted = new Set<string>();
  return {
    async may(place, bot, message) {
      if (counted.has(message)) return true;
      const key = `${place}/${bot}`;
      // Of a clock that was set back nothing counts that lies ahead.
      const recent = ((await rows.get(key))?.value.at ?? []).filter((at) => at > now() - WINDOW_MS && at <= now());
      if (recent.length >= BOT_ANSWERS) return false;
      await rows.put(key, { at: [...recent, now()] });
      counted.add(message);
      if (counted.size > 200) counted.delete(counted.values().next().value as string);
      return true;
    },
  };
}
