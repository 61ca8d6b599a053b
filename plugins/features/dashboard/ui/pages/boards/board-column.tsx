import type { ReactNode } from "react";
import { classes } from "../../kit/class-names.ts";
import { BOARDS } from "../../words/boards.ts";
import type { Board, Column } from "./board-types.ts";
import { useDropTarget } from "./drag.tsx";

/** One of the six columns: its head stays, its cards scroll. */
export function BoardColumn({
  board,
  column,
  count,
  filtered,
  drop,
  over,
  children,
}: {
  readonly board: Board;
  readonly column: Column;
  readonly count: number;
  readonly filtered: boolean;
  /** Change that dropping the held card here would write; undefined without one, or in its own column. */
  readonly drop: string | undefined;
  /** The card is held above it. */
  readonly over: boolean;
  readonly children: ReactNode;
}) {
  const ref = useDropTarget(column.id);
  const closed = column.kind === "closed";
  const days = closed ? board.closedWindowDays : board.timeRangeDays;
  const dated = closed || column.kind === "open-backlog";
  return (
    <section ref={ref} className={classes("boards-column", over && "boards-column-over")} aria-label={column.title} data-column={column.id}>
      <header className="boards-column-head">
        <h2 className="cut" title={column.title}>
          <bdi>{column.title}</bdi>
        </h2>
        <span className="meta" data-count>
          {count}
        </span>
        <span className="grow" />
        {dated && (
          <span className="meta" title={closed ? BOARDS.daysClosed(days) : BOARDS.daysOpen(days)}>
            {BOARDS.days(days)}
          </span>
        )}
      </header>
      <div className="boards-column-body">
        {over && drop !== undefined && <p className="boards-drop">{BOARDS.drop(drop)}</p>}
        {count === 0 && !over && <p className="boards-none meta">{filtered ? BOARDS.emptyFilter : BOARDS.emptyColumn(days)}</p>}
        <ul className="boards-cards">{children}</ul>
      </div>
    </section>
  );
}
