import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";
import { classes } from "./class-names.ts";

/** One tab or segment. */
export interface Choice<Id extends string = string> {
  readonly id: Id;
  readonly label: ReactNode;
  /** A word or figure after the label, such as "1 error". */
  readonly mark?: ReactNode;
  /** Said instead of the label where that is no text. */
  readonly title?: string;
}

/** Moves the choice with the arrow keys: the way of tab lists and radio groups. */
function byArrows<Id extends string>(choices: readonly Choice<Id>[], selected: Id, onSelect: (id: Id) => void, list: HTMLElement | null) {
  return (event: KeyboardEvent) => {
    const at = choices.findIndex(({ id }) => id === selected);
    const to = {
      ArrowRight: at + 1,
      ArrowDown: at + 1,
      ArrowLeft: at - 1 + choices.length,
      ArrowUp: at - 1 + choices.length,
      Home: 0,
      End: choices.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const index = to % choices.length;
    onSelect((choices[index] as Choice<Id>).id);
    (list?.children[index] as HTMLElement | undefined)?.focus();
  };
}

/** A list of tabs; what they show is the page's: give it `role="tabpanel"` and `id` of `panel`. */
export function Tabs<Id extends string>({
  tabs,
  selected,
  onSelect,
  label,
  panel,
}: {
  readonly tabs: readonly Choice<Id>[];
  readonly selected: Id;
  onSelect(id: Id): void;
  readonly label: string;
  /** Id of the element that shows the chosen tab. */
  readonly panel?: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  // Where there is no room for all of them, the chosen one is in sight.
  useEffect(() => {
    list.current?.children[tabs.findIndex(({ id }) => id === selected)]?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [tabs, selected]);
  return (
    <div ref={list} className="kit-tabs" role="tablist" aria-label={label} onKeyDown={(event) => byArrows(tabs, selected, onSelect, list.current)(event)}>
      {tabs.map(({ id, label: text, mark, title }) => (
        <button
          key={id}
          type="button"
          role="tab"
          className="kit-tab"
          aria-selected={id === selected}
          aria-controls={panel}
          aria-label={title}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {text}
          {mark !== undefined && <span className="kit-tab-mark">{mark}</span>}
        </button>
      ))}
    </div>
  );
}

/** One of a few, all of them in sight: a radio group. */
export function Segmented<Id extends string>({
  choices,
  selected,
  onSelect,
  label,
  className,
}: {
  readonly choices: readonly Choice<Id>[];
  readonly selected: Id;
  onSelect(id: Id): void;
  readonly label: string;
  readonly className?: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={list}
      className={classes("kit-segmented", className)}
      role="radiogroup"
      aria-label={label}
      onKeyDown={(event) => byArrows(choices, selected, onSelect, list.current)(event)}
    >
      {choices.map(({ id, label: text, mark, title }) => (
        <button
          key={id}
          type="button"
          role="radio"
          className="kit-segment"
          aria-checked={id === selected}
          aria-label={title}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {text}
          {mark !== undefined && <span className="kit-tab-mark">{mark}</span>}
        </button>
      ))}
    </div>
  );
}
