import { type KeyboardEvent, useEffect, useRef } from "react";
import { BOARDS } from "../../words/boards.ts";

/** One line of the menu of a card. */
export interface CardCommand {
  readonly id: string;
  readonly label: string;
  /** Change that it writes. */
  readonly about?: string;
  readonly key?: string;
  readonly disabledWhy?: string | undefined;
  run(): void;
}

/** The one menu of a board, beside the card that it was opened for: hundreds of cards need not have one each. */
export function CardMenu({
  card,
  opener,
  commands,
  onClose,
}: {
  readonly card: string;
  readonly opener: HTMLElement;
  readonly commands: readonly CardCommand[];
  onClose(): void;
}) {
  const list = useRef<HTMLDivElement>(null);
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    const element = list.current;
    if (element === null) return undefined;
    element.showPopover();
    const [at, own] = [opener.getBoundingClientRect(), element.getBoundingClientRect()];
    const below = at.bottom + 4 + own.height <= innerHeight;
    element.style.top = `${Math.max(4, below ? at.bottom + 4 : at.top - own.height - 4)}px`;
    element.style.left = `${Math.max(4, Math.min(at.left, innerWidth - own.width - 4))}px`;
    element.querySelector<HTMLElement>("[role=menuitem]")?.focus();
    const closed = (event: Event) => (event as ToggleEvent).newState === "closed" && close.current();
    element.addEventListener("toggle", closed);
    return () => element.removeEventListener("toggle", closed);
  }, [opener]);
  const leave = () => {
    list.current?.hidePopover();
    (opener.closest<HTMLElement>("[data-card]") ?? opener).focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>("[role=menuitem]") ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
    // Enter is for the line that has the focus.
    const byKey = event.key === "Enter" ? -1 : commands.findIndex(({ key }) => key === event.key);
    if (to !== undefined) all[to]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") leave();
    else if (byKey >= 0) all[byKey]?.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={list} popover="auto" role="menu" aria-label={BOARDS.menuOf(card)} tabIndex={-1} className="kit-menu boards-menu" onKeyDown={onKeyDown}>
      {commands.map(({ id, label, about, key, disabledWhy, run }) => (
        <button
          key={id}
          type="button"
          role="menuitem"
          tabIndex={-1}
          className="kit-menu-item"
          aria-disabled={disabledWhy !== undefined || undefined}
          title={disabledWhy}
          onClick={() => {
            if (disabledWhy !== undefined) return;
            leave();
            run();
          }}
        >
          <span className="grow">
            {label}
            {about !== undefined && <span className="boards-menu-about">{about}</span>}
          </span>
          {key !== undefined && <kbd>{key}</kbd>}
        </button>
      ))}
    </div>
  );
}
