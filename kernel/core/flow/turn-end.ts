import type { TaskResult, TurnEnd, Usage } from "@svc/sdk";

/** The promises `Turn.ended` of one run: one for each preparation of its turn. */
export class TurnEnds {
  readonly #resolves: ((end: TurnEnd) => void)[] = [];

  /** Usage of the engine's last run. */
  usage: Usage | undefined;

  /** The end for a preparation that begins now; those before it are replaced. */
  next(): Promise<TurnEnd> {
    return new Promise((resolve) => this.#resolves.push(resolve));
  }

  /** The run is over. */
  settle(result: TaskResult, at: number): void {
    const end: TurnEnd = {
      result,
      ...(result.ok ? { answer: result.reply } : {}),
      ...(result.usage === undefined || this.usage === undefined ? {} : { usage: this.usage }),
      ...(result.sessionId === undefined ? {} : { session: result.sessionId }),
      at,
    };
    this.#resolves.pop()?.(end);
    for (const resolve of this.#resolves) resolve({ ...end, replaced: true });
  }
}

/**
 * Resolves when everything has run that waits on a promise settled before and needs neither I/O nor a timer for it. To be awaited in a
 * promise's callback: Node runs ticks after all of those.
 */
export const afterReactions = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
