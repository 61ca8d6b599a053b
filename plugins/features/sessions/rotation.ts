import type { Usage } from "@svc/sdk";
import type { SessionSettings } from "./settings.ts";

/** One conversation of an agent on a tier, as it stands between two turns. */
export interface Kept {
  /** The native session that the next turn goes on with; unset: the next turn starts a new one. */
  readonly session?: string;
  /** Turns that the session has had. */
  readonly turns: number;
  /** When its last turn ended, in Unix milliseconds. */
  readonly at: number;
  /** Tokens that the last turn alone read: input, cache reads and cache writes. */
  readonly input: number;
  /** The session has seen one planned turn and nothing else: it is never gone on with. */
  readonly planned?: boolean;
}

/** Why a session is not gone on with. `fresh`: the message asked for a new one; `planner`: that strategy never resumes; `lost`: the engine could not; `moved`: it is on another node. */
export interface Rotation {
  readonly reason: "idle" | "turns" | "tokens" | "fresh" | "planner" | "lost" | "moved";
  /** For people, with the numbers. */
  readonly words: string;
}

const MINUTE_MS = 60_000;

/** Everything that the engine read for one turn. What it wrote does not count (SES-03). */
export const totalInput = ({ input, cacheRead = 0, cacheCreate = 0 }: Usage): number => input + cacheRead + cacheCreate;

/** Has the session become too old, too long or too large (000:L164)? Asked when a turn starts. Idle time and tokens must exceed their limit, turns only reach it. */
export function rotationOf({ turns, at, input }: Kept, now: number, limits: SessionSettings): Rotation | undefined {
  const idle = now - at;
  if (idle > limits.staleMinutes * MINUTE_MS)
    return { reason: "idle", words: `idle for ${Math.round(idle / MINUTE_MS)} minutes, more than ${limits.staleMinutes}` };
  if (turns >= limits.maxTurnsPerSession) return { reason: "turns", words: `${turns} of at most ${limits.maxTurnsPerSession} turns` };
  if (input > limits.tierTwoThresholdTokens)
    return { reason: "tokens", words: `the turn before read ${input} tokens, more than ${limits.tierTwoThresholdTokens}` };
  return undefined;
}
