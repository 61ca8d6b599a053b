import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, cancelled, isCancelled } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { toast } from "../../kit/toast.ts";
import { BOARDS } from "../../words/boards.ts";
import { type BoardState, beginMove, columnOf, endMove, failMove, numberOf, readState } from "./board-state.ts";
import type { Board, BoardItems, Card } from "./board-types.ts";

/** A board as it is shown, and what can be done with it. */
export interface OpenBoard {
  readonly state?: BoardState;
  readonly error?: ApiError;
  readonly reading: boolean;
  /** Asks the source again. */
  read(): void;
  /** Stops the first reading. */
  cancel(): void;
  /** Moves a card at once; it goes back when the source refuses. */
  move(id: string, to: string): void;
}

/** The cards of a board: read when it is opened and when somebody asks for it, never by themselves (BRD-07). */
export function useBoard(board: Board | undefined): OpenBoard {
  const id = board?.id;
  const [shown, setShown] = useState<{ readonly board: string; readonly state?: BoardState; readonly error?: ApiError }>();
  const [reading, setReading] = useState(false);
  const now = useRef(shown);
  now.current = shown;
  const asked = useRef<AbortController>(undefined);
  const numbers = useRef(0);

  /** Changes the cards of this board, unless another one is shown by now. */
  const change = useCallback((of: string, next: (state: BoardState) => BoardState) => {
    const { current } = now;
    if (current?.board !== of || current.state === undefined) return;
    now.current = { board: of, state: next(current.state) };
    setShown(now.current);
  }, []);

  const read = useCallback(async () => {
    if (id === undefined) return;
    asked.current?.abort();
    const abort = new AbortController();
    asked.current = abort;
    setReading(true);
    if (isCancelled(now.current?.error)) setShown({ board: id });
    try {
      const items = await request<BoardItems>("GET", `/api/boards/${encodeURIComponent(id)}/items`, undefined, { signal: abort.signal });
      if (abort.signal.aborted) return;
      const before = now.current?.board === id ? now.current.state : undefined;
      now.current = { board: id, state: readState(items, before) };
    } catch (error) {
      if (abort.signal.aborted) return;
      const before = now.current?.board === id ? now.current : { board: id };
      now.current = { ...before, error: error as ApiError };
    }
    setReading(false);
    setShown(now.current);
  }, [id]);

  const cancel = useCallback(() => {
    if (id === undefined) return;
    asked.current?.abort();
    now.current = { board: id, error: cancelled() };
    setReading(false);
    setShown(now.current);
  }, [id]);

  useEffect(() => {
    void read();
    return () => asked.current?.abort();
  }, [read]);

  const columns = board?.columns;
  const move = useCallback(
    async (card: string, to: string) => {
      const state = now.current?.state;
      const from = state === undefined ? undefined : columnOf(state, card);
      if (id === undefined || state === undefined || from === to || from === undefined) return;
      numbers.current += 1;
      const number = numbers.current;
      const title = (column: string | null) => columns?.find((one) => one.id === column)?.title ?? BOARDS.noColumn;
      change(id, (current) => beginMove(current, card, { from: from ?? "", to, number }));
      try {
        const path = `/api/boards/${encodeURIComponent(id)}/items/${encodeURIComponent(card)}/move`;
        const { item } = await request<{ item: Card }>("PATCH", path, { ...(from === null ? {} : { from }), to });
        change(id, (current) => endMove(current, card, number, item));
        toast({
          text: BOARDS.moved(numberOf(card), title(item.column)),
          ...(from === null ? {} : { action: { label: BOARDS.undo, run: () => void move(card, from) } }),
        });
      } catch (error) {
        const { message, details } = error as ApiError;
        const actual = details?.["item"] as Card | undefined;
        change(id, (current) => failMove(current, card, number, actual));
        toast({
          kind: "error",
          text: actual === undefined ? BOARDS.wentBack(numberOf(card), title(from)) : BOARDS.isIn(numberOf(card), title(actual.column)),
          cause: message,
          action: { label: BOARDS.tryAgain, run: () => void move(card, to) },
        });
      }
    },
    [id, columns, change],
  );

  const own = shown?.board === id ? shown : undefined;
  return {
    ...(own?.state === undefined ? {} : { state: own.state }),
    ...(own?.error === undefined ? {} : { error: own.error }),
    reading: reading || (id !== undefined && own === undefined),
    read: () => void read(),
    cancel,
    move: (card, to) => void move(card, to),
  };
}
