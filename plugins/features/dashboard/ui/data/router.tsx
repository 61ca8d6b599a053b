import { type AnchorHTMLAttributes, type MouseEvent, useSyncExternalStore } from "react";

/** Where the browser is. */
export interface Route {
  readonly path: string;
  /** Of the page's path: `id` of `/tasks/:id`. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** Without `#`. */
  readonly hash: string;
}

const listeners = new Set<() => void>();
let patterns: readonly string[] = [];
let current = read();
/** Current step of the history: distinguishes Back and Forward. */
let step = stepOf(history.state) ?? 0;
/** Returning to the page that was left: do not notify listeners. */
let returning = false;

/** Asked before the page is left; answers false to stay. Of the editor with its unsaved changes. */
let guard: ((to: string) => boolean) | undefined;

function read(): Route {
  const { pathname, search, hash } = location;
  return { path: pathname, params: paramsOf(pathname), query: new URLSearchParams(search), hash: decodeURIComponent(hash.slice(1)) };
}

function paramsOf(path: string): Readonly<Record<string, string>> {
  for (const pattern of patterns) {
    const params = matchPath(pattern, path);
    if (params !== undefined) return params;
  }
  return {};
}

/** The step of the history that a state was stored with. */
function stepOf(state: unknown): number | undefined {
  const found = (state as { step?: unknown } | null)?.step;
  return typeof found === "number" ? found : undefined;
}

/** The parameters of a path that fits a pattern such as `/tasks/:id`. */
export function matchPath(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [pattern.split("/"), path.replace(/(.)\/$/, "$1").split("/")];
  if (wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = given[at] as string;
    if (part.startsWith(":") && value !== "") params[part.slice(1)] = decodeURIComponent(value);
    else if (part !== value) return undefined;
  }
  return params;
}

function changed(): void {
  current = read();
  for (const listener of [...listeners]) listener();
}
addEventListener("popstate", ({ state }) => {
  const before = step;
  step = stepOf(state) ?? before - 1;
  if (returning) {
    returning = false;
    return;
  }
  const to = location.pathname + location.search + location.hash;
  if (location.pathname !== current.path && step !== before && guard !== undefined && !guard(to)) {
    returning = true;
    history.go(before - step);
    return;
  }
  changed();
});
addEventListener("hashchange", changed);

/** Tells the router which pages there are: called by the shell. */
export function knowPatterns(known: readonly string[]): void {
  if (patterns === known) return;
  patterns = known;
  current = read();
}

/** Where the browser is; drawn again when that changes. */
export function useRoute(): Route {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => current,
  );
}

/** Goes to a path of this dashboard (`/tasks?agent=a#x`), or changes query or fragment of the page (`?a=b`, `#tab`). */
export function navigate(to: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin) return;
  const leaves = url.pathname !== location.pathname;
  if (leaves && guard !== undefined && !guard(to)) return;
  const address = url.pathname + url.search + url.hash;
  if (replace) history.replaceState({ step }, "", address);
  else if (address !== location.pathname + location.search + location.hash) {
    step += 1;
    history.pushState({ step }, "", address);
  }
  changed();
}

/** Asks before the page is left, also by Back and Forward; gives the way to ask no more. The browser's own question for closing the tab is the page's affair. */
export function guardLeaving(ask: (to: string) => boolean): () => void {
  guard = ask;
  return () => {
    if (guard === ask) guard = undefined;
  };
}

/** One value of the query and how to set it (undefined takes it away); set without a new step in the history. */
export function useQuery(name: string): [string | undefined, (value: string | undefined) => void] {
  const { query } = useRoute();
  const set = (value: string | undefined) => {
    const next = new URLSearchParams(location.search);
    if (value === undefined || value === "") next.delete(name);
    else next.set(name, value);
    const text = next.toString();
    navigate(`${location.pathname}${text === "" ? "" : `?${text}`}${location.hash}`, { replace: true });
  };
  return [query.get(name) ?? undefined, set];
}

/** A link within the dashboard: no new page is loaded. With a modifier or the middle button it is any link. */
export function Link({ to, onClick, ...rest }: { readonly to: string } & Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href">) {
  const go = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || rest.target !== undefined) return;
    event.preventDefault();
    navigate(to);
  };
  return <a {...rest} href={to} onClick={go} />;
}
