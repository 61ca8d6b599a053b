/** Where a message for an attached agent stands. The last four are final. */
export type ItemState = "queued" | "drained" | "answered" | "refused" | "fallen" | "cancelled";

/** Why the agent's own engine took a message back. */
export type FallenBy = "deadline" | "session-end" | "process-gone" | "silent" | "detached" | "restart" | "unanswered";

/** From its arrival until a session must have taken it (000:L368). */
export const CLAIM_MS = 90_000;
/** From then until the session must have answered it: as long as a session may be silent (000:L369). */
export const ANSWER_MS = 15 * 60_000;
/** So many are handed out at a time (000:L370). */
export const MOST_DRAINED = 5;
/** So many characters of one (000:L371). */
export const MOST_CHARACTERS = 4_000;

/** A message for an agent that a session wears. Times in Unix milliseconds. */
export interface Item {
  /** `m<number>`: what a session calls it by. */
  readonly id: string;
  readonly number: number;
  /** The task whose turn waits for the answer. */
  readonly task: string;
  readonly agent: string;
  readonly from: string;
  readonly channel: string;
  readonly text: string;
  /** Only what may act is handed to a session: it has all the rights of the person at its terminal. */
  readonly autonomy: "report" | "propose" | "act";
  readonly state: ItemState;
  readonly at: number;
  readonly due: number;
  /** The process that it was handed to, and the session and turn that this was in. */
  readonly process?: string;
  readonly session?: string;
  readonly pid?: number;
  readonly turn?: string;
  readonly answerBy?: number;
  /** The session was told once that it owes the answer. */
  readonly reminded?: true;
  readonly reply?: string;
  readonly reason?: string;
  readonly fallenBy?: FallenBy;
  readonly endedAt?: number;
}

/** Nothing happens to it any more. */
export const isFinal = ({ state }: Pick<Item, "state">): boolean => state !== "queued" && state !== "drained";

/** Why nothing can be done with it any more, for the session that tries. */
export function endOf({ id, state, fallenBy }: Item): string {
  if (state === "fallen") return `${id} is not yours any more: ${FALLEN[fallenBy ?? "deadline"]}, and the agent's own engine answers it`;
  if (state === "cancelled") return `${id} was cancelled: nobody waits for an answer`;
  return state === "refused" ? `${id} has been refused already` : `${id} has been answered already`;
}

const FALLEN: Readonly<Record<FallenBy, string>> = {
  deadline: "nobody took it within 90 s",
  "session-end": "the session has ended",
  "process-gone": "the program of the session is gone",
  silent: "the session was silent for 15 minutes",
  detached: "the session was detached",
  restart: "the daemon was restarted",
  unanswered: "it was not answered within 15 minutes",
};
