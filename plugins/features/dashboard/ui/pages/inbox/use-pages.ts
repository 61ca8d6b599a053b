import type { Envelope } from "@svc/sdk";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { ApiError } from "../../data/api-error.ts";
import { request } from "../../data/request.ts";
import { useResource } from "../../data/resource.ts";

/** The rows of a list that is read page by page. */
export interface Pages<T> {
  /** Undefined before anything is known. */
  readonly rows?: readonly T[];
  readonly error?: ApiError;
  readonly slow: boolean;
  readonly more: boolean;
  /** Reads the next page, where there is one. */
  next(): void;
  reload(): void;
  cancel(): void;
}

interface Page {
  readonly next?: string;
}

/** Pages loaded after the first one. */
interface Book<T> {
  /** The first page that it follows. */
  readonly first: Page;
  readonly rows: readonly T[];
  /** Pages, the first one included. */
  readonly pages: number;
  readonly next?: string;
}

/**
 * Reads a list by its cursor. What makes the first page stale has all pages that are shown read again; until they are there, the rows stay as
 * they were, so that none seems to be over that has only moved on to another page.
 */
export function usePages<P extends object, T>(
  path: string | undefined,
  rowsIn: (page: P) => readonly T[],
  idOf: (row: T) => string,
  refreshOn?: (event: Envelope) => boolean,
): Pages<T> {
  const first = useResource<P & Page>(path, refreshOn === undefined ? {} : { refreshOn });
  const { data, reload, cancel } = first;
  const [book, setBook] = useState<Book<T>>();
  const now = useRef({ path, book, busy: false });
  if (now.current.path !== path) now.current = { path, book: undefined, busy: false };

  const put = useCallback((next: Book<T> | undefined) => {
    now.current.book = next;
    setBook(next);
  }, []);

  /** Reads until so many pages are there. */
  const readTo = useCallback(
    async (from: Book<T>, pages: number, current: () => boolean) => {
      let at = from;
      while (at.next !== undefined && at.pages < pages && current()) {
        const page = await request<P & Page>("GET", `${path}&cursor=${encodeURIComponent(at.next)}`);
        at = { first: at.first, rows: [...at.rows, ...rowsIn(page)], pages: at.pages + 1, ...(page.next === undefined ? {} : { next: page.next }) };
      }
      if (current()) put(at);
    },
    [path, rowsIn, put],
  );

  useEffect(() => {
    if (data === undefined) return undefined;
    const begun: Book<T> = { first: data, rows: rowsIn(data), pages: 1, ...(data.next === undefined ? {} : { next: data.next }) };
    const before = now.current.book;
    if (before === undefined || before.pages === 1) {
      put(begun);
      return undefined;
    }
    let current = true;
    readTo(begun, before.pages, () => current).catch(() => current && put(begun));
    return () => {
      current = false;
    };
  }, [data, rowsIn, put, readTo]);

  const next = useCallback(() => {
    const { book: at, busy } = now.current;
    if (at?.next === undefined || busy) return;
    now.current.busy = true;
    const mine = now.current;
    readTo(at, at.pages + 1, () => now.current === mine && mine.book === at)
      // Its place is gone: the list is read from its beginning.
      .catch(reload)
      .finally(() => {
        mine.busy = false;
      });
  }, [readTo, reload]);

  const shown = now.current.book;
  const rows = useMemo(() => {
    if (shown === undefined) return undefined;
    // A row that moved between two readings stands in both.
    const known = new Set<string>();
    return shown.rows.filter((row) => !known.has(idOf(row)) && known.add(idOf(row)));
  }, [shown, idOf]);
  return {
    ...(rows === undefined ? {} : { rows }),
    ...(first.error === undefined ? {} : { error: first.error }),
    slow: first.slow,
    more: shown?.next !== undefined,
    next,
    reload,
    cancel,
  };
}
