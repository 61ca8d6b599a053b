import type { Log, TraceStep, Turn } from "@svc/sdk";
import type { Live } from "../host/live.ts";
import type { Task } from "./live-task.ts";

/** The folder below the data folder that holds what came with messages, by task. */
export const MEDIA_FOLDER = "media";

/** A turn whose files lie on this machine. */
export interface FetchedTurn {
  readonly turn: Turn;
  /** What its sender is told before the answer: the files that could not be taken. Empty where all were. */
  readonly notice: string;
  readonly step: TraceStep;
}

/** What fetching stands on. */
export interface MediaDeps {
  readonly dataFolder: string;
  readonly log: Log;
}

/**
 * The room that fetches files which platforms hand out by a handle. Each is fetched once, also over a restart, and gets a `path`; one that is
 * too large, too many or not to be had is named in the words of its message instead. Never rejects; ends early with the signal.
 */
export interface MediaPart {
  createFetch(deps: MediaDeps): (turn: Turn, live: Live, signal: AbortSignal) => Promise<FetchedTurn>;
}

type Brought = Pick<FetchedTurn, "turn" | "notice">;

/** Fetches the files of turns; the room is loaded with the first one that has any. At once for a turn without files. */
export type TurnMedia = (turn: Turn, lead: Task) => Brought | Promise<Brought>;

/** `load` is asked once. */
export function createTurnMedia(load: () => Promise<MediaPart>, deps: MediaDeps): TurnMedia {
  let fetching: Promise<ReturnType<MediaPart["createFetch"]>> | undefined;
  async function bring(turn: Turn, lead: Task): Promise<Brought> {
    lead.step = "media";
    fetching ??= load().then((part) => part.createFetch(deps));
    const fetched = await (await fetching)(turn, lead.live, lead.abort.signal);
    lead.record.steps.push(fetched.step);
    return fetched;
  }
  return (turn, lead) => (turn.messages.some(({ media }) => media?.some(({ handle }) => handle !== undefined)) ? bring(turn, lead) : { turn, notice: "" });
}
