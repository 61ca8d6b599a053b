import { type KeyboardEvent, memo } from "react";
import { Link } from "../../data/router.tsx";
import { AgentMark } from "../../kit/agent-mark.tsx";
import { classes } from "../../kit/class-names.ts";
import { Glyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Duration } from "../../kit/values.tsx";
import { BOARDS } from "../../words/boards.ts";
import { initialsOf, numberOf } from "./board-state.ts";
import type { Board, Card } from "./board-types.ts";
import { useDragged } from "./drag.tsx";
import type { AtWork } from "./use-agents-at-work.ts";

/** Operations on a card: one set of functions for all of them, so that a card is rendered again only when it changes. */
export interface CardActions {
  select(id: string): void;
  key(event: KeyboardEvent<HTMLElement>, id: string): void;
  menu(id: string, opener: HTMLElement): void;
}

/** One card. It is selected by a click and dragged by a press that moves; neither opens anything. */
export const BoardCard = memo(function BoardCard({
  card,
  column,
  labels,
  hidden,
  selected,
  stop,
  moving,
  grabbed,
  movable,
  work,
  actions,
}: {
  readonly card: Card;
  /** Title of the column it is shown in. */
  readonly column: string;
  readonly labels: Board["labels"];
  /** Labels that its column says already. */
  readonly hidden: ReadonlySet<string>;
  readonly selected: boolean;
  /** The one of its column that Tab reaches. */
  readonly stop: boolean;
  readonly moving: boolean;
  readonly grabbed: boolean;
  readonly movable: boolean;
  readonly work: AtWork | undefined;
  readonly actions: CardActions;
}) {
  const { ref, listeners, dragging } = useDragged(card.id, !movable);
  const number = numberOf(card.id);
  return (
    <li className="boards-slot">
      <div
        ref={ref}
        role="group"
        aria-roledescription="card"
        aria-label={`${BOARDS.cardLabel(number, card.title, column)}${moving ? ` ${BOARDS.moving}` : ""}`}
        data-card={card.id}
        tabIndex={stop ? 0 : -1}
        className={classes(
          "boards-card",
          selected && "boards-card-selected",
          moving && "boards-card-moving",
          (dragging || grabbed) && "boards-card-taken",
          movable && "boards-card-movable",
        )}
        onClick={() => actions.select(card.id)}
        onFocus={(event) => event.target === event.currentTarget && actions.select(card.id)}
        onKeyDown={(event) => actions.key(event, card.id)}
        {...listeners}
      >
        <CardFace card={card} number={number} labels={labels} hidden={hidden} actions={actions} />
        {work !== undefined && (
          <Link to={`/tasks/${encodeURIComponent(work.task)}`} className="boards-work" draggable={false} tabIndex={selected ? 0 : -1}>
            <Glyph state="running" label={BOARDS.works(work.name)} />
            <AgentMark agent={work.agent} size={12} />
            <bdi className="cut">{work.name}</bdi>
            <Duration from={work.since} />
          </Link>
        )}
      </div>
    </li>
  );
});

/** Face of a card; also used for the drag overlay. The drag library renders every card again at each column that a drag passes; memo keeps their faces. */
export const CardFace = memo(function CardFace({
  card,
  number,
  labels,
  hidden,
  actions,
}: {
  readonly card: Card;
  readonly number: string;
  readonly labels: Board["labels"];
  readonly hidden: ReadonlySet<string>;
  /** Absent: it has no menu. */
  readonly actions?: Pick<CardActions, "menu">;
}) {
  const people = [...new Set([...card.agents, ...card.assignees])];
  return (
    <>
      <p className="boards-card-title" dir="auto">
        {card.title}
      </p>
      <div className="boards-card-foot">
        <div className="boards-labels">
          <span className="boards-card-number" title={card.id}>
            {number}
          </span>
          {card.labels
            .filter((label) => !hidden.has(label))
            .map((label) => (
              <Label key={label} name={label} shown={labels.find(({ name }) => name === label)} />
            ))}
        </div>
        {people.slice(0, 2).map((name) => (
          <span key={name} className="boards-person" title={name}>
            <span aria-hidden="true">{initialsOf(name)}</span>
            <span className="unseen">
              {BOARDS.assignees} {name}
            </span>
          </span>
        ))}
        {people.length > 2 && (
          <span className="meta" title={people.slice(2).join(", ")}>
            +{people.length - 2}
          </span>
        )}
        {actions !== undefined && (
          <button
            type="button"
            className="boards-card-menu"
            aria-label={BOARDS.menuOf(number)}
            aria-haspopup="menu"
            tabIndex={-1}
            onPointerDown={(event) => event.stopPropagation()}
            onMouseDown={(event) => event.stopPropagation()}
            onTouchStart={(event) => event.stopPropagation()}
            onClick={(event) => {
              event.stopPropagation();
              actions.menu(card.id, event.currentTarget);
            }}
          >
            <Icon name="more" size={14} />
          </button>
        )}
      </div>
    </>
  );
});

/** A label of the source: its colour as a square beside its name, which alone tells it. */
function Label({ name, shown }: { readonly name: string; readonly shown: Board["labels"][number] | undefined }) {
  return (
    <span className="boards-label" title={shown?.description ?? name}>
      <svg width="8" height="8" viewBox="0 0 8 8" aria-hidden="true">
        <rect width="8" height="8" rx="1.5" fill={shown?.color ?? "currentColor"} />
      </svg>
      <bdi className="cut">{name}</bdi>
    </span>
  );
}
