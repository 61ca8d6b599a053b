import { type KeyboardEvent, type ReactNode, type Ref, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { classes } from "./class-names.ts";
import { useKeys } from "./keys.ts";
import { useTextScale } from "./root-font.ts";

/** Operations of a page on a list. */
export interface VirtualListHandle {
  /** Brings a row into sight. */
  reveal(index: number): void;
  focus(): void;
  /** Whether the reader is at the top with neither pointer nor focus in the list: then new rows may enter. */
  atRest(): boolean;
}

/** Properties of a list. */
export interface VirtualListProps {
  readonly count: number;
  /** All rows are as high, in px of the design: they grow with the root's font; where the pointer is a finger, they are at least 44 px. */
  readonly rowHeight: number;
  /** The cells of a row. */
  render(index: number): ReactNode;
  /** Identity of a row: keeps its element, and the reader's place when rows enter above. */
  keyOf?(index: number): string | number;
  onOpen?(index: number): void;
  readonly selected?: number | undefined;
  onSelect?(index: number): void;
  readonly label: string;
  /** Rows at the end are near: read the next page. */
  onEnd?(): void;
  /** `j`, `k` and Enter work wherever the focus is. Default true. */
  readonly keys?: boolean;
  readonly className?: string;
  rowClass?(index: number): string | undefined;
  readonly ref?: Ref<VirtualListHandle>;
}

const MARGIN = 10;
const FINGER_PX = 44;
/** No browser lays out higher than that; longer lists scroll by a smaller step. */
const MOST_PX = 8_000_000;

const COARSE = matchMedia("(pointer: coarse)");

function useCoarse(): boolean {
  return useSyncExternalStore(
    (listener) => {
      COARSE.addEventListener("change", listener);
      return () => COARSE.removeEventListener("change", listener);
    },
    () => COARSE.matches,
  );
}

/** A list of any length: only the rows in sight are there. j and k, arrows, Page and Home keys, Enter, `.` for the row's menu; keeps the reader's place. */
export function VirtualList(props: VirtualListProps) {
  const { count, rowHeight: asked, render, keyOf, onOpen, selected, onSelect, label, onEnd, keys = true, className, rowClass, ref } = props;
  const box = useRef<HTMLDivElement>(null);
  const rowHeight = Math.max(Math.round(asked * useTextScale()), useCoarse() ? FINGER_PX : 0);
  const [view, setView] = useState({ top: 0, height: 600 });
  const height = Math.min(count * rowHeight, MOST_PX);
  const scale = height === 0 ? 1 : (count * rowHeight) / height;
  const first = Math.max(0, Math.floor((view.top * scale) / rowHeight) - MARGIN);
  const last = Math.min(count, Math.ceil((view.top * scale + view.height) / rowHeight) + MARGIN);
  const id = (index: number) => `${label.replace(/\W+/g, "-")}-row-${index}`;

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const look = () =>
      setView((now) => (now.top === element.scrollTop && now.height === element.clientHeight ? now : { top: element.scrollTop, height: element.clientHeight }));
    const size = new ResizeObserver(look);
    size.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      size.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, []);

  useEffect(() => {
    if (count > 0 && last >= count - MARGIN) onEnd?.();
  }, [last, count, onEnd]);

  const reveal = (index: number) => {
    const element = box.current;
    if (element === null) return;
    const [top, bottom] = [(index * rowHeight) / scale, ((index + 1) * rowHeight) / scale];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight;
  };
  useImperativeHandle(ref, () => ({
    reveal,
    focus: () => box.current?.focus(),
    atRest: () => box.current === null || (box.current.scrollTop === 0 && !box.current.matches(":hover, :focus-within")),
  }));

  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice brings its row into sight
  useEffect(() => {
    if (selected !== undefined && selected >= 0) reveal(selected);
  }, [selected]);

  const move = (to: number) => {
    if (count === 0) return;
    const index = Math.max(0, Math.min(count - 1, to));
    onSelect?.(index);
    reveal(index);
  };
  const step = (by: number) => move((selected ?? -1) + (selected === undefined && by < 0 ? count + 1 : 0) + by);
  const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
  useKeys(
    {
      j: { title: "Next row", run: () => step(1) },
      k: { title: "Previous row", run: () => step(-1) },
      ".": { title: "Menu of the row", run: () => selected !== undefined && openMenu(box.current, id(selected)) },
      Enter: { title: "Open the row", run: () => (selected === undefined || onOpen === undefined ? false : onOpen(selected)) },
    },
    { scope: label, active: keys && count > 0 },
  );
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = selected ?? -1;
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 }[event.key];
    if (to !== undefined) move(to);
    else if (event.key === "Enter" && selected !== undefined && onOpen !== undefined) onOpen(selected);
    else if (event.key !== "." || selected === undefined || !openMenu(box.current, id(selected))) return;
    event.preventDefault();
  };

  const rows: ReactNode[] = [];
  for (let index = first; index < last; index += 1)
    rows.push(
      <div
        key={keyOf?.(index) ?? index}
        id={id(index)}
        role="row"
        tabIndex={-1}
        aria-rowindex={index + 1}
        aria-selected={index === selected}
        className={classes("kit-row", rowClass?.(index))}
        style={{ height: rowHeight, transform: `translateY(${(index * rowHeight) / scale}px)` }}
        onClick={(event) => {
          if (event.target instanceof Element && event.target.closest("a,button,input,label") !== null) return;
          onSelect?.(index);
          onOpen?.(index);
        }}
      >
        {render(index)}
      </div>,
    );
  return (
    <div
      ref={box}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={count}
      aria-activedescendant={selected !== undefined && selected >= first && selected < last ? id(selected) : undefined}
      className={classes("kit-list", className)}
      onKeyDown={onKeyDown}
    >
      <div className="kit-list-inner" role="presentation" style={{ height }}>
        {rows}
      </div>
    </div>
  );
}

/** Opens the menu that stands in a row; false where it has none, or is not drawn. */
function openMenu(list: Element | null, row: string): boolean {
  const button = list?.querySelector<HTMLElement>(`#${CSS.escape(row)} [aria-haspopup=menu]`);
  button?.click();
  return button != null;
}
