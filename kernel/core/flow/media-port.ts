import type { Log, TraceStep, Turn } from "@svc/sdk";
import type { Live } from "../host/live.ts";
import type { Task } from "./live-task.ts";

/** Folder below the data folder for the files of messages, by task. */
export const MEDIA_FOLDER = "media";

/** A turn whose files lie on this machine. */
export interface FetchedTurn {
  readonly turn: Turn;
  /** Notice for the sender before the answer: the files that could not be fetched. Empty if all were. */
  readonly notice: string;
  readonly step: TraceStep;
}

/** Dependencies of fetching media. */
export interface MediaDeps {
  readonly dataFolder: string;
  readonly log: Log;
}

/**
 * Port of the module that downloads files which platforms provide by a handle. Each is downloaded once, also across restarts, and gets a `path`;
 * files that are too large, too many or unavailable are named in the text of the message instead. Never rejects; ends early when the signal aborts.
 */
export interface MediaPart {
  createFetch(deps: MediaDeps): (turn: Turn, live: Live, signal: AbortSignal) => Promise<FetchedTurn>;
}

type Brought = Pick<FetchedTurn, "turn" | "notice">;

/** Fetches the files of turns; the room is loaded with the first one that has any. At once for a turn without files. */
export type TurnMedia = (turn: Turn, lead: Task) => Brought | Promise<Brought>;

/** `load` is called once. */
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
