import { type Board, codeOf, reasonOf, type Services, svcError, type WorkItem } from "@svc/sdk";
import type { BoardSettings } from "./settings.ts";

/** Timeout of one answer of a source. */
const PATIENCE_MS = 30_000;

/** The source that a board names. Throws `SVC_BOARD_SOURCE_OFF` (503) while no plugin brings it. */
export function sourceOf({ id, source: { type } }: Pick<BoardSettings, "id" | "source">, services: Services): Board {
  const found = findSource(type, services);
  if (found === undefined)
    throw svcError(
      "SVC_BOARD_SOURCE_OFF",
      `The board '${id}' has the source '${type}', which no running plugin brings; enable that plugin or channel in svc.json.`,
      {
        status: 503,
      },
    );
  return found;
}

/** Undefined while no plugin brings it. */
export const findSource = (type: string, services: Services): Board | undefined => services.list("board").find(({ name }) => name === type);

/**
 * Asks the source, and gives its refusal on with its own words and its status: people act on them. A source that says nothing in time is a
 * 504: whether it has done what it was asked is then unknown.
 */
export async function ask<T>(board: Pick<BoardSettings, "source">, stopped: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const over = () => svcError("SVC_BOARD_STOPPED", "The boards were stopped or set up anew; read the board again.", { status: 503 });
  if (stopped.aborted) throw over();
  const late = AbortSignal.timeout(PATIENCE_MS);
  const signal = AbortSignal.any([stopped, late]);
  let cut: () => void = () => undefined;
  const ended = new Promise<never>((_, reject) => {
    cut = () => reject(signal.reason);
    signal.addEventListener("abort", cut, { once: true });
  });
  try {
    // Do not wait for a source that ignores the signal.
    return await Promise.race([work(signal), ended]);
  } catch (error) {
    if (stopped.aborted) throw over();
    if (late.aborted)
      throw svcError("SVC_BOARD_SOURCE_LATE", `${board.source.type} has not answered within ${PATIENCE_MS / 1000} s; read the board again.`, { status: 504 });
    const status = (error as { status?: unknown } | undefined)?.status;
    const known = typeof status === "number" && Number.isInteger(status) && status >= 400 && status <= 599;
    throw svcError(
      "SVC_BOARD_SOURCE",
      known
        ? `${board.source.type} answered ${status}: ${reasonOf(error)}`
        : `${board.source.type} could not be asked (${codeOf(error) ?? "no code"}): ${reasonOf(error)}`,
      { status: known ? status : 502, cause: error },
    );
  } finally {
    signal.removeEventListener("abort", cut);
  }
}

const NUMBERED = /^(.+)#([1-9]\d{0,15})$/s;

/** The project that an id `<project>#<number>` names; undefined for the ids of sources that number otherwise. */
export const projectOf = (itemId: string): string | undefined => NUMBERED.exec(itemId)?.[1];

/** Whether an item may be shown and written on a board. */
export const isListed = ({ source: { projects } }: BoardSettings, { id, project = projectOf(id) }: Pick<WorkItem, "id" | "project">): boolean =>
  project !== undefined && projects.includes(project);
