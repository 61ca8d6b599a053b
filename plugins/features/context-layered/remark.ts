import type { Log } from "@svc/sdk";

const EVERY_MS = 3_600_000;

/** Tells the log of contexts larger than `limit` characters: once an hour for each agent, with how many there were and how large they got. */
export function createRemark(log: Log, limit: number, now: () => number = Date.now): (agent: string, characters: number) => void {
  const seen = new Map<string, { remarkedAt: number; turns: number; largest: number }>();
  return (agent, characters) => {
    const last = seen.get(agent) ?? { remarkedAt: Number.NEGATIVE_INFINITY, turns: 0, largest: 0 };
    const turns = last.turns + 1;
    const largest = Math.max(last.largest, characters);
    if (now() - last.remarkedAt < EVERY_MS) {
      seen.set(agent, { remarkedAt: last.remarkedAt, turns, largest });
      return;
    }
    seen.set(agent, { remarkedAt: now(), turns: 0, largest: 0 });
    log.info({ agent, turns, characters: largest, limit }, "assembled contexts are large; what does not fit is left out");
  };
}
