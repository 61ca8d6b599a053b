import { svcError } from "@svc/sdk";

/** Moves that may wait for one card: more is a fault of the caller's. */
const MOST_WAITING = 50;

/** One after the other for each card; cards do not wait for each other. */
export class CardOrder {
  readonly #tails = new Map<string, { last: Promise<unknown>; waiting: number }>();

  /** Runs when what was asked before for this card has ended. Throws `SVC_BOARD_BUSY` (429) when too many wait. */
  run<T>(card: string, work: () => Promise<T>): Promise<T> {
    const tail = this.#tails.get(card) ?? { last: Promise.resolve(), waiting: 0 };
    if (tail.waiting >= MOST_WAITING)
      throw svcError("SVC_BOARD_BUSY", `${MOST_WAITING} moves of this card wait already; read the board again and repeat what is missing.`, { status: 429 });
    tail.waiting += 1;
    const result = tail.last.then(work);
    tail.last = result
      .catch(() => undefined)
      .finally(() => {
        tail.waiting -= 1;
        if (tail.waiting === 0) this.#tails.delete(card);
      });
    this.#tails.set(card, tail);
    return result;
  }
}
