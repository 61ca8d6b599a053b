import type { BoardItems, Card } from "./board-types.ts";

/** A move that the source has not answered yet. */
export interface PendingMove {
  readonly from: string;
  readonly to: string;
  /** Counts the moves of this page: of two of one card the later decides. */
  readonly number: number;
}

/** The cards of a board as a page shows them: as they were read, and moved by hand since. */
export interface BoardState {
  readonly readAt: number;
  readonly cards: ReadonlyMap<string, Card>;
  /** Card ids of each column, from top to bottom. */
  readonly order: Readonly<Record<string, readonly string[]>>;
  readonly unplaced: readonly string[];
  readonly moves: ReadonlyMap<string, PendingMove>;
  readonly truncated: boolean;
}

/** Returns the loaded state, with cards of pending moves in their target columns. */
export function readState({ readAt, columns, unplaced, truncated }: BoardItems, before?: BoardState): BoardState {
  const all = [...columns.flatMap(({ items }) => items), ...unplaced];
  const read: BoardState = {
    readAt,
    cards: new Map(all.map((card) => [card.id, card])),
    order: Object.fromEntries(columns.map(({ id, items }) => [id, items.map((card) => card.id)])),
    unplaced: unplaced.map(({ id }) => id),
    moves: new Map(),
    truncated,
  };
  let state = read;
  for (const [id, move] of before?.moves ?? [])
    if (state.cards.has(id)) state = { ...placed(state, id, move.to), moves: new Map([...state.moves, [id, move]]) };
  return state;
}

/** The card stands in its new column at once. */
export function beginMove(state: BoardState, id: string, move: PendingMove): BoardState {
  return { ...placed(state, id, move.to), moves: new Map([...state.moves, [id, move]]) };
}

/** The source has answered: the card is as it says. An answer to a move before the last one changes nothing. */
export function endMove(state: BoardState, id: string, number: number, card: Card): BoardState {
  if (state.moves.get(id)?.number !== number) return state;
  const known = { ...state, cards: new Map([...state.cards, [id, card]]), moves: without(state.moves, id) };
  return columnOf(state, id) === card.column ? known : placed(known, id, card.column);
}

/** The source has refused, or the result is unknown: the card goes back to where it was, or to where the source has it. */
export function failMove(state: BoardState, id: string, number: number, actual?: Card): BoardState {
  const move = state.moves.get(id);
  if (move?.number !== number) return state;
  const card = actual ?? state.cards.get(id);
  const cards = actual === undefined ? state.cards : new Map([...state.cards, [id, actual]]);
  return placed({ ...state, cards, moves: without(state.moves, id) }, id, actual === undefined ? move.from : (card?.column ?? null));
}

/** Where a card is shown; null: in no column. */
export function columnOf({ order }: Pick<BoardState, "order">, id: string): string | null {
  return Object.keys(order).find((column) => order[column]?.includes(id)) ?? null;
}

/** The card by the arrow from one that is selected; undefined at an edge. Columns without cards are passed by. */
export function neighbour(order: BoardState["order"], columns: readonly string[], id: string, way: "up" | "down" | "left" | "right"): string | undefined {
  const at = columns.findIndex((column) => order[column]?.includes(id));
  const row = order[columns[at] ?? ""]?.indexOf(id) ?? -1;
  if (row < 0) return undefined;
  if (way === "up" || way === "down") return order[columns[at] ?? ""]?.[row + (way === "up" ? -1 : 1)];
  const step = way === "left" ? -1 : 1;
  for (let next = at + step; next >= 0 && next < columns.length; next += step) {
    const cards = order[columns[next] ?? ""] ?? [];
    if (cards.length > 0) return cards[Math.min(row, cards.length - 1)];
  }
  return undefined;
}

/** The state with the card on top of a column, or in none. */
function placed(state: BoardState, id: string, column: string | null): BoardState {
  const order = Object.fromEntries(Object.entries(state.order).map(([one, ids]) => [one, ids.filter((other) => other !== id)]));
  const unplaced = state.unplaced.filter((other) => other !== id);
  const into = column === null ? undefined : order[column];
  if (column === null || into === undefined) return { ...state, order, unplaced: [id, ...unplaced] };
  return { ...state, order: { ...order, [column]: [id, ...into] }, unplaced };
}

function without<V>(map: ReadonlyMap<string, V>, key: string): ReadonlyMap<string, V> {
  const rest = new Map(map);
  rest.delete(key);
  return rest;
}

/** `#4182` of `group/app#4182`, or the whole id where the source numbers otherwise. */
export const numberOf = (id: string): string => /#\d+$/.exec(id)?.[0] ?? id;

/** Two letters for a name. */
export function initialsOf(name: string): string {
  const words = name.split(/[\s._-]+/u).filter((word) => word !== "");
  const letters = words.length > 1 ? [words[0], words[1]].map((word) => [...(word ?? "")][0] ?? "") : [...(words[0] ?? "")].slice(0, 2);
  return letters.join("").toUpperCase();
}
