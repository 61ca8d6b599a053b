import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, cancelled } from "../../data/api-error.ts";
import { useLive } from "../../data/live.ts";
import { request } from "../../data/request.ts";
import { session } from "../../data/session.ts";
import { type ListFilter, requestQuery } from "./filter-words.ts";
import type { TaskMarks, TaskPage, TaskRow } from "./task-types.ts";

/** The rows of a list of any length, read page by page as they come into sight. */
export interface ListRows {
  /** Undefined before anything is known. */
  readonly count: number | undefined;
  /** The count covers all tasks; else the list grows during the search. */
  readonly exact: boolean;
  /** Time back to which the search went, in Unix ms, if that is not the end. */
  readonly reached?: number;
  readonly loading: boolean;
  readonly error?: ApiError;
  /** Newer tasks that are not in the list. */
  readonly newer: number;
  row(index: number): TaskRow | undefined;
  /** Searches further back. */
  more(): void;
  reload(): void;
  /** Stops the first reading. */
  cancel(): void;
}

interface Book {
  readonly key: string;
  readonly query: string;
  marks?: TaskMarks;
  /** Pages by their number; of a search, one after the other. */
  readonly pages: Map<number, readonly TaskRow[]>;
  readonly asked: Set<number>;
  next?: string;
  reached?: number;
  loading: boolean;
  error?: ApiError;
  readonly abort: AbortController;
}

const RETRY_MS = 2_000;
let remembered: { readonly filter: string; readonly ids: readonly string[] } | undefined;

/** The list that was shown last: for the way to the next task of it. */
export const rememberedList = (): typeof remembered => remembered;

/** Reads the tasks of a filter. `atRest` is asked whether newer ones may enter. */
export function useListRows(filter: ListFilter, atRest: () => boolean): ListRows {
  const [, draw] = useState(0);
  const changed = useCallback(() => draw((count) => count + 1), []);
  const key = JSON.stringify(filter);
  const book = useRef<Book>(undefined);
  const fresh = useRef(new Set<string>());
  const rest = useRef(atRest);
  rest.current = atRest;

  const open = useCallback(() => {
    const query = requestQuery(JSON.parse(key) as ListFilter).toString();
    const mine: Book = { key, query, pages: new Map(), asked: new Set(), loading: true, abort: new AbortController() };
    const before = book.current;
    // Keep the shown rows until the new list is loaded.
    if (before?.key === key && before.marks !== undefined)
      Object.assign(mine, { marks: before.marks, next: before.next, reached: before.reached, loading: false }) && copyPages(before, mine);
    book.current = mine;
    void begin(
      mine,
      () => book.current === mine,
      changed,
      () => fresh.current.clear(),
    );
    changed();
  }, [key, changed]);
  useEffect(open, [open]);
  useEffect(() => session.subscribe(open), [open]);

  useLive(
    ({ name, data }) => {
      if (name === "gap") return open();
      const { type, ref } = data as { type: string; ref?: string };
      if (!type.startsWith("task:") || ref === undefined) return;
      const shown = book.current;
      if (shown?.marks === undefined) return;
      const page = pageOf(shown, ref);
      if (page !== undefined) {
        if (type !== "task:step") void readPage(shown, page, () => book.current === shown, changed, true);
      } else if (shown.marks.marks[0] === undefined || ref > shown.marks.marks[0]) {
        fresh.current.add(ref);
        changed();
      }
    },
    { names: ["event", "gap"] },
  );
  // Insert newer tasks when the top of the list is not in view.
  useEffect(() => {
    const timer = setInterval(() => {
      if (fresh.current.size > 0 && !document.hidden && rest.current()) open();
    }, RETRY_MS);
    return () => clearInterval(timer);
  }, [open]);

  const { marks, pages, next, reached, loading = true, error } = book.current ?? ({} as Partial<Book>);
  const exact = marks?.total !== undefined;
  const found = [...(pages?.values() ?? [])].reduce((sum, rows) => sum + rows.length, 0);
  const row = (index: number): TaskRow | undefined => {
    const shown = book.current;
    if (shown?.marks === undefined) return undefined;
    const page = Math.floor(index / shown.marks.page);
    const rows = shown.pages.get(page);
    if (rows === undefined && exact && !shown.asked.has(page)) queueMicrotask(() => void readPage(shown, page, () => book.current === shown, changed));
    return rows?.[index % shown.marks.page];
  };
  remembered =
    book.current === undefined
      ? remembered
      : {
          filter: book.current.query,
          ids: [...book.current.pages.entries()].sort(([one], [other]) => one - other).flatMap(([, rows]) => rows.map(({ id }) => id)),
        };
  return {
    count: marks === undefined ? undefined : exact ? marks.total : found,
    exact,
    ...(reached === undefined || next === undefined ? {} : { reached }),
    loading,
    ...(error === undefined ? {} : { error }),
    newer: fresh.current.size,
    row,
    more() {
      const shown = book.current;
      if (shown !== undefined && !exact && shown.next !== undefined && !shown.loading) void search(shown, () => book.current === shown, changed);
    },
    reload: open,
    cancel() {
      const shown = book.current;
      if (shown === undefined || shown.marks !== undefined || !shown.loading) return;
      shown.abort.abort();
      Object.assign(shown, { loading: false, error: cancelled() });
      changed();
    },
  };
}

function copyPages(from: Book, to: Book): void {
  for (const [page, rows] of from.pages) to.pages.set(page, rows);
}

/** Counts, and reads the first page; a search begins. */
async function begin(book: Book, current: () => boolean, changed: () => void, done: () => void): Promise<void> {
  const { signal } = book.abort;
  try {
    const marks = await request<TaskMarks>("GET", `/api/tasks/marks?${book.query}`, undefined, { signal });
    if (!current()) return;
    if (marks.total === undefined) {
      const first = await request<TaskPage>("GET", `/api/tasks?${book.query}`, undefined, { signal });
      if (!current()) return;
      book.pages.clear();
      take(book, 0, first);
    } else {
      const last = await request<TaskPage>("GET", `/api/tasks?${asking(book.query, marks.marks[0])}`, undefined, { signal });
      if (!current()) return;
      book.pages.clear();
      book.pages.set(0, last.tasks);
    }
    book.asked.clear();
    book.asked.add(0);
    Object.assign(book, { marks, loading: false, error: undefined });
    done();
  } catch (error) {
    if (!current() || signal.aborted) return;
    Object.assign(book, { loading: false, error });
  }
  changed();
}

function take(book: Book, page: number, { tasks, next, reached }: TaskPage): void {
  book.pages.set(page, tasks);
  Object.assign(book, { next, reached });
}

async function search(book: Book, current: () => boolean, changed: () => void): Promise<void> {
  book.loading = true;
  changed();
  try {
    const found = await request<TaskPage>("GET", `/api/tasks?${asking(book.query, book.next)}`);
    if (!current()) return;
    // Pages of a search are of any length: what was found joins the last one.
    const all = [...(book.pages.get(0) ?? []), ...found.tasks];
    book.pages.clear();
    const page = book.marks?.page ?? 100;
    for (let at = 0; at < all.length || at === 0; at += page) book.pages.set(at / page, all.slice(at, at + page));
    Object.assign(book, { next: found.next, reached: found.reached, loading: false });
  } catch (error) {
    if (!current()) return;
    Object.assign(book, { loading: false, error });
  }
  changed();
}

async function readPage(book: Book, page: number, current: () => boolean, changed: () => void, again = false): Promise<void> {
  if (book.asked.has(page) && !again) return;
  book.asked.add(page);
  try {
    const { tasks } = await request<TaskPage>("GET", `/api/tasks?${asking(book.query, book.marks?.marks[page])}`);
    if (!current()) return;
    book.pages.set(page, tasks);
    changed();
  } catch {
    // Asked again when its rows are drawn the next time.
    setTimeout(() => book.asked.delete(page) && changed(), RETRY_MS);
  }
}

const asking = (query: string, below: string | undefined): string => {
  const parameters = new URLSearchParams(query);
  if (below !== undefined) parameters.set("below", below);
  return parameters.toString();
};

function pageOf(book: Book, id: string): number | undefined {
  for (const [page, rows] of book.pages) if (rows.some((row) => row.id === id)) return page;
  return undefined;
}
