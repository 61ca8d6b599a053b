import { type KeyboardEvent, type RefObject, useLayoutEffect, useMemo, useRef, useState } from "react";
import { BOARDS, changeText } from "../../words/boards.ts";
import type { CardActions } from "./board-card.tsx";
import { type BoardState, columnOf, neighbour, numberOf } from "./board-state.ts";
import type { Board } from "./board-types.ts";

/** A card that is held, by hand or by the keyboard, and the column it is held above. */
export interface Held {
  readonly card: string;
  readonly over: string | undefined;
  readonly byKeys: boolean;
}

/** The menu of a card, and beside what it opens. */
export interface OpenMenu {
  readonly card: string;
  readonly opener: HTMLElement;
}

/** Interaction with the cards of a board: selection, held card, and announcements. */
export interface CardHand {
  readonly selected: string | undefined;
  readonly held: Held | undefined;
  readonly menu: OpenMenu | undefined;
  readonly said: string;
  readonly actions: CardActions;
  select(card: string): void;
  hold(held: Held | undefined): void;
  over(column: string | undefined): void;
  openMenu(menu: OpenMenu | undefined): void;
  /** Moves a card; its own column and one that is unknown change nothing. */
  move(card: string, to: string | undefined): void;
  visit(card: string): void;
  /** Describes the change of a move to the column, for people. */
  changeTo(card: string, to: string): string;
  titleOf(column: string | null | undefined): string;
}

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" } as const;
const isArrow = (key: string): key is keyof typeof ARROWS => key in ARROWS;

/** The hand over a board; `order` are the cards that are shown. */
export function useCardHand({
  board,
  state,
  order,
  movable,
  root,
  onMove,
}: {
  readonly board: Board;
  readonly state: BoardState;
  readonly order: BoardState["order"];
  readonly movable: boolean;
  readonly root: RefObject<HTMLElement | null>;
  onMove(id: string, to: string): void;
}): CardHand {
  const [selected, select] = useState<string>();
  const [held, hold] = useState<Held>();
  const [menu, openMenu] = useState<OpenMenu>();
  const [said, say] = useState("");
  const refocus = useRef<string>(undefined);
  const columns = useMemo(() => board.columns.map(({ id }) => id), [board]);
  const titleOf = (id: string | null | undefined) => board.columns.find((column) => column.id === id)?.title ?? BOARDS.noColumn;
  const changeTo = (card: string, to: string) => changeText(board.changes[columnOf(state, card) ?? ""]?.[to], state.cards.get(card)?.labels);

  const move = (card: string, to: string | undefined) => {
    if (!movable || to === undefined || columnOf(state, card) === to) return;
    // The card is drawn anew in another column: the focus goes with it.
    if (document.activeElement?.getAttribute("data-card") === card) refocus.current = card;
    onMove(card, to);
  };
  useLayoutEffect(() => {
    const card = refocus.current;
    if (card === undefined) return;
    refocus.current = undefined;
    cardElement(root.current, card)?.focus();
  });

  const take = (card: string) => {
    hold({ card, over: columnOf(state, card) ?? undefined, byKeys: true });
    say(BOARDS.grabbed(numberOf(card), titleOf(columnOf(state, card))));
  };
  const carry = (card: string, by: number) => {
    const to = columns[Math.max(0, Math.min(columns.length - 1, columns.indexOf(held?.over ?? "") + by))];
    if (to === undefined) return;
    hold({ card, over: to, byKeys: true });
    say(to === columnOf(state, card) ? BOARDS.overSame(titleOf(to)) : BOARDS.over(titleOf(to), changeTo(card, to)));
  };
  const release = (card: string, drop: boolean) => {
    const to = drop ? held?.over : undefined;
    const moves = to !== undefined && to !== columnOf(state, card);
    hold(undefined);
    say(moves ? BOARDS.dropped(numberOf(card), titleOf(to)) : BOARDS.putBack(numberOf(card)));
    if (moves) move(card, to);
  };
  const visit = (card: string) => {
    const url = state.cards.get(card)?.url;
    if (url !== undefined) window.open(url, "_blank", "noopener,noreferrer");
  };
  /** False: the key is not for cards. */
  const keyOfHeld = (key: string, id: string): boolean => {
    if (key === "ArrowLeft" || key === "ArrowRight") carry(id, key === "ArrowLeft" ? -1 : 1);
    else if (key === " " || key === "Enter") release(id, true);
    else if (key === "Escape" || key === "Tab") release(id, false);
    else return isArrow(key);
    return key !== "Tab";
  };
  const keyOf = (key: string, id: string, element: HTMLElement): boolean => {
    if (isArrow(key)) cardElement(root.current, neighbour(order, columns, id, ARROWS[key]))?.focus();
    else if (key === " " && movable) take(id);
    else if (key === "Enter") visit(id);
    else if (key === "m" || key === ".") openMenu({ card: id, opener: element });
    else if (/^[1-6]$/.test(key)) move(id, columns[Number(key) - 1]);
    else return false;
    return true;
  };
  const onKey = (event: KeyboardEvent<HTMLElement>, id: string) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const used = held?.byKeys && held.card === id ? keyOfHeld(event.key, id) : keyOf(event.key, id, event.currentTarget);
    if (!used) return;
    event.preventDefault();
    event.stopPropagation();
  };
  const now = useRef({ onKey });
  now.current = { onKey };
  const actions = useMemo<CardActions>(
    () => ({
      select,
      key: (event, id) => now.current.onKey(event, id),
      menu: (card, opener) => {
        select(card);
        openMenu({ card, opener });
      },
    }),
    [],
  );
  const over = (column: string | undefined) => hold((one) => one && { ...one, over: column });
  return { selected, held, menu, said, actions, select, hold, over, openMenu, move, visit, changeTo, titleOf };
}

/** The element of a card that is shown. */
export const cardElement = (root: HTMLElement | null, card: string | undefined): HTMLElement | null =>
  card === undefined ? null : (root?.querySelector<HTMLElement>(`[data-card="${CSS.escape(card)}"]`) ?? null);
