import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { Link } from "../data/router.tsx";

let place: HTMLElement | null = null;
const listeners = new Set<() => void>();

/** Where the shell wants the heads of pages; called by the shell. */
export function placeHeads(element: HTMLElement | null): void {
  place = element;
  for (const listener of [...listeners]) listener();
}

/** The head of a page, drawn in the bar above it: crumbs, title and what can be done. The title also names the tab of the browser. */
export function PageHead({
  title,
  crumbs = [],
  note,
  children,
}: {
  readonly title: string;
  readonly crumbs?: readonly { readonly label: string; readonly to: string }[];
  /** Beside the title: a state, a moment. */
  readonly note?: ReactNode;
  /** Actions, the primary button last. */
  readonly children?: ReactNode;
}) {
  const element = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => place,
  );
  useEffect(() => {
    document.title = `${title} - svc`;
  }, [title]);
  if (element === null) return null;
  return createPortal(
    <>
      <div className="kit-page-title">
        {crumbs.length > 0 && (
          <nav aria-label="Crumbs" className="kit-crumbs">
            {crumbs.map(({ label, to }) => (
              <span key={to}>
                <Link to={to}>{label}</Link>
                <span aria-hidden="true"> / </span>
              </span>
            ))}
          </nav>
        )}
        <h1 className="cut" title={title}>
          <bdi>{title}</bdi>
        </h1>
        {note !== undefined && <span className="kit-page-note">{note}</span>}
      </div>
      <div className="kit-page-actions">{children}</div>
    </>,
    element,
  );
}
