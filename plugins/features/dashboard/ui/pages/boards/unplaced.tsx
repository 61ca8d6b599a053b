import { useState } from "react";
import { Button } from "../../kit/button.tsx";
import { BOARDS, changeText } from "../../words/boards.ts";
import { type BoardState, numberOf } from "./board-state.ts";
import type { Board } from "./board-types.ts";
import { CardMenu } from "./card-menu.tsx";

/** Cards with a label of the columns' scope that no column maps: told apart, so that none is hidden, and moved by their menu. */
export function Unplaced({
  board,
  state,
  why,
  onMove,
}: {
  readonly board: Board;
  readonly state: BoardState;
  readonly why: string | undefined;
  onMove(id: string, to: string): void;
}) {
  const [menu, setMenu] = useState<{ readonly card: string; readonly opener: HTMLElement }>();
  // Such a card leaves no label of a column: it moves as one of the backlog does, but not into it.
  const backlog = board.columns.find(({ kind }) => kind === "open-backlog")?.id ?? "";
  const targets = board.columns.filter(({ kind }) => kind !== "open-backlog");
  return (
    <details className="boards-unplaced">
      <summary>
        {BOARDS.unplaced(state.unplaced.length)} <span className="meta">{BOARDS.unplacedWhy}</span>
      </summary>
      <ul>
        {state.unplaced.map((id) => (
          <li key={id} data-card={id}>
            <span className="mono">{numberOf(id)}</span>
            <bdi className="cut grow">{state.cards.get(id)?.title}</bdi>
            <Button
              kind="plain"
              aria-haspopup="menu"
              aria-label={BOARDS.move(numberOf(id))}
              disabledWhy={why}
              onClick={(event) => setMenu({ card: id, opener: event.currentTarget })}
            >
              {BOARDS.moveTo}
            </Button>
          </li>
        ))}
      </ul>
      {menu !== undefined && (
        <CardMenu
          card={numberOf(menu.card)}
          opener={menu.opener}
          onClose={() => setMenu(undefined)}
          commands={targets.map(({ id, title }) => ({
            id,
            label: title,
            about: changeText(board.changes[backlog]?.[id], state.cards.get(menu.card)?.labels),
            key: String(board.columns.findIndex((column) => column.id === id) + 1),
            run: () => onMove(menu.card, id),
          }))}
        />
      )}
    </details>
  );
}
