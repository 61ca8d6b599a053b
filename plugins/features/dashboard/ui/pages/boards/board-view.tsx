import { useMemo, useRef } from "react";
import { useKeys } from "../../kit/keys.ts";
import { BOARDS } from "../../words/boards.ts";
import { BoardCard, CardFace } from "./board-card.tsx";
import { BoardColumn } from "./board-column.tsx";
import { type BoardState, columnOf, numberOf } from "./board-state.ts";
import type { Board, Card } from "./board-types.ts";
import { type CardCommand, CardMenu } from "./card-menu.tsx";
import { DragArea } from "./drag.tsx";
import { useAgentsAtWork } from "./use-agents-at-work.ts";
import { cardElement, useCardHand } from "./use-card-hand.ts";

/** The six columns with their cards, moved by mouse, touch, keys and menu. */
export function BoardView({
  board,
  state,
  filter,
  why,
  onMove,
}: {
  readonly board: Board;
  readonly state: BoardState;
  readonly filter: string;
  /** Why nothing can be moved now. */
  readonly why: string | undefined;
  onMove(id: string, to: string): void;
}) {
  const root = useRef<HTMLDivElement>(null);
  const work = useAgentsAtWork(board.source.type);
  const hidden = useMemo(() => new Set(board.columns.flatMap(({ mapsToLabel }) => (mapsToLabel === undefined ? [] : [mapsToLabel]))), [board]);
  const order = useMemo(() => filtered(state, filter), [state, filter]);
  const movable = why === undefined && board.movable;
  const hand = useCardHand({ board, state, order, movable, root, onMove });
  const { selected, held, menu, changeTo } = hand;

  // Without a focus in the board the keys mean the card that was selected last.
  const onSelected = (run: (card: string) => void) => () => (selected !== undefined && state.cards.has(selected) ? run(selected) : false);
  useKeys(
    {
      ...Object.fromEntries(
        board.columns.map(({ id, title }, at) => [
          String(at + 1),
          { title: `${BOARDS.keys.column}: ${title}`, run: onSelected((card) => hand.move(card, id)) },
        ]),
      ),
      m: {
        title: BOARDS.keys.menu,
        run: onSelected((card) => {
          const opener = cardElement(root.current, card);
          if (opener !== null) hand.openMenu({ card, opener });
        }),
      },
      Space: { title: BOARDS.keys.take, run: () => false },
    },
    { scope: BOARDS.keys.scope },
  );

  const commands = (card: string): readonly CardCommand[] => [
    ...board.columns.map(({ id, title }, at) => {
      const here = columnOf(state, card) === id;
      return {
        id,
        label: title,
        about: here ? BOARDS.here : changeTo(card, id),
        key: String(at + 1),
        disabledWhy: why ?? (!board.movable ? BOARDS.readOnly(board.source.type) : here ? BOARDS.overSame(title) : undefined),
        run: () => hand.move(card, id),
      };
    }),
    ...(state.cards.get(card)?.url === undefined ? [] : [{ id: "open", label: BOARDS.open, key: "Enter", run: () => hand.visit(card) }]),
  ];
  const heldCard = held === undefined || held.byKeys ? undefined : state.cards.get(held.card);
  const overlay = heldCard && (
    <div className="boards-card boards-card-held">
      <CardFace card={heldCard} number={numberOf(heldCard.id)} labels={board.labels} hidden={hidden} />
    </div>
  );

  return (
    <div ref={root} className="boards-view">
      <DragArea
        overlay={overlay}
        onStart={(card) => {
          hand.select(card);
          hand.hold({ card, over: undefined, byKeys: false });
        }}
        onOver={hand.over}
        onDrop={(card, to) => {
          hand.hold(undefined);
          hand.move(card, to);
        }}
        onCancel={() => hand.hold(undefined)}
      >
        <div className="boards-columns">
          {board.columns.map((column) => {
            const ids = order[column.id] ?? [];
            const stop = selected !== undefined && ids.includes(selected) ? selected : ids[0];
            return (
              <BoardColumn
                key={column.id}
                board={board}
                column={column}
                count={ids.length}
                filtered={filter !== ""}
                over={held?.over === column.id && columnOf(state, held.card) !== column.id}
                drop={held === undefined ? undefined : changeTo(held.card, column.id)}
              >
                {ids.map((id) => (
                  <BoardCard
                    key={id}
                    card={state.cards.get(id) as Card}
                    column={column.title}
                    labels={board.labels}
                    hidden={hidden}
                    selected={id === selected}
                    stop={id === stop}
                    moving={state.moves.has(id)}
                    grabbed={held?.card === id}
                    movable={movable}
                    work={work.get(id)}
                    actions={hand.actions}
                  />
                ))}
              </BoardColumn>
            );
          })}
        </div>
      </DragArea>
      {menu !== undefined && (
        <CardMenu card={numberOf(menu.card)} opener={menu.opener} commands={commands(menu.card)} onClose={() => hand.openMenu(undefined)} />
      )}
      <div className="unseen" role="status" aria-live="assertive" data-said>
        {hand.said}
      </div>
    </div>
  );
}

/** The cards that fit the filter, in their columns. */
function filtered({ order, cards }: BoardState, filter: string): BoardState["order"] {
  const wanted = filter.trim().toLowerCase();
  if (wanted === "") return order;
  const fits = (id: string) => {
    const { title = "", labels = [], assignees = [], agents = [] } = cards.get(id) ?? {};
    return [id, title, ...labels, ...assignees, ...agents].some((text) => text.toLowerCase().includes(wanted));
  };
  return Object.fromEntries(Object.entries(order).map(([column, ids]) => [column, ids.filter(fits)]));
}
