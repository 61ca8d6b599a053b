import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from "react";
import { classes } from "./class-names.ts";

/** One line of a menu. */
export interface MenuItem {
  readonly id: string;
  readonly label: ReactNode;
  /** Its key, shown at the right. */
  readonly key?: string;
  readonly danger?: boolean;
  readonly checked?: boolean;
  /** Why it cannot be chosen now. */
  readonly disabledWhy?: string | undefined;
  onSelect(): void;
}

/** A button that opens a list of commands: by mouse, or by arrow keys, Home, End, first letters, Enter, Escape. */
export function Menu({
  items,
  trigger,
  label,
  className,
  inRow = false,
}: {
  readonly items: readonly MenuItem[];
  /** Content of the button. */
  readonly trigger: ReactNode;
  /** Name of the button where `trigger` is no text. */
  readonly label?: string;
  readonly className?: string;
  /** The menu belongs to a row of a list: Tab skips it, `.` in the list opens it, and the list gets the focus back. */
  readonly inRow?: boolean;
}) {
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const options = () => [...(list.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  const show = (last = false) => {
    const [element, opener] = [list.current, button.current];
    if (element === null || opener === null) return;
    element.showPopover();
    place(element, opener);
    options()
      .at(last ? -1 : 0)
      ?.focus();
  };
  const hide = () => {
    list.current?.hidePopover();
    (inRow ? button.current?.closest<HTMLElement>("[role=grid]") : button.current)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const all = options();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: (at + 1) % all.length, ArrowUp: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 }[event.key];
    if (to !== undefined) all[to]?.focus();
    else if (event.key === "Escape") hide();
    else if (event.key === "Tab") list.current?.hidePopover();
    else if (event.key.length === 1 && /\S/.test(event.key)) {
      const fits = (option: HTMLElement) => option.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase());
      [...all.slice(at + 1), ...all.slice(0, at + 1)].find(fits)?.focus();
    } else return;
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className ?? "kit-button kit-button-plain"}
        tabIndex={inRow ? -1 : undefined}
        aria-haspopup="menu"
        aria-expanded={open}
        aria-controls={id}
        aria-label={label}
        title={label}
        onClick={(event) => {
          event.stopPropagation();
          if (open) hide();
          else show();
        }}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
          event.preventDefault();
          show(event.key === "ArrowUp");
        }}
      >
        {trigger}
      </button>
      <div
        ref={list}
        id={id}
        role="menu"
        tabIndex={-1}
        aria-label={label}
        popover="auto"
        className="kit-menu"
        onKeyDown={onKeyDown}
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        {items.map(({ id: key, label: text, key: shortcut, danger, checked, disabledWhy, onSelect }) => (
          <button
            key={key}
            type="button"
            role={checked === undefined ? "menuitem" : "menuitemradio"}
            aria-checked={checked}
            aria-disabled={disabledWhy !== undefined || undefined}
            title={disabledWhy}
            tabIndex={-1}
            className={classes("kit-menu-item", danger === true && "kit-menu-danger")}
            onClick={(event) => {
              event.stopPropagation();
              if (disabledWhy !== undefined) return;
              hide();
              onSelect();
            }}
          >
            <span className="grow">{text}</span>
            {shortcut !== undefined && <kbd>{shortcut}</kbd>}
          </button>
        ))}
      </div>
    </>
  );
}

/** Below the opener, or above it where there is no room; inside the window. */
function place(element: HTMLElement, opener: HTMLElement): void {
  const [at, own] = [opener.getBoundingClientRect(), element.getBoundingClientRect()];
  const below = at.bottom + 4 + own.height <= innerHeight;
  element.style.top = `${Math.max(4, below ? at.bottom + 4 : at.top - own.height - 4)}px`;
  element.style.left = `${Math.max(4, Math.min(at.left, innerWidth - own.width - 4))}px`;
}
