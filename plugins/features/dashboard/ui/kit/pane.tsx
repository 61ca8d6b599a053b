import { Children, type ReactNode, type Ref } from "react";
import { classes } from "./class-names.ts";

/** Panes side by side that share lines and each scroll alone; on a narrow screen the one of `shown` (its place, from 0) alone. */
export function Panes({ children, shown = 0, className }: { readonly children: ReactNode; readonly shown?: number; readonly className?: string }) {
  const panes = Children.toArray(children);
  return (
    <div className={classes("kit-panes", className)} data-shown={Math.min(shown, panes.length - 1)}>
      {panes}
    </div>
  );
}

/** One pane: a sticky head and scrolling content. Its width comes from the page's CSS (`flex`), else it takes the remaining space. */
export function Pane({
  title,
  count,
  actions,
  children,
  className,
  label,
  flush = false,
  scrollRef,
}: {
  readonly title?: ReactNode;
  /** A figure after the title. */
  readonly count?: ReactNode;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
  readonly className?: string;
  /** Its name where there is no title. */
  readonly label?: string;
  /** No padding, no scrolling of its own: for lists. */
  readonly flush?: boolean;
  readonly scrollRef?: Ref<HTMLDivElement>;
}) {
  const head = title !== undefined || actions !== undefined;
  return (
    <section className={classes("kit-pane", className)} aria-label={label ?? (typeof title === "string" ? title : undefined)}>
      {head && (
        <header className="kit-pane-head">
          {title !== undefined && <h2 className="cut">{title}</h2>}
          {count !== undefined && <span className="kit-pane-count">{count}</span>}
          <span className="grow" />
          {actions}
        </header>
      )}
      <div ref={scrollRef} className={classes("kit-pane-body", flush && "kit-pane-flush")}>
        {children}
      </div>
    </section>
  );
}
