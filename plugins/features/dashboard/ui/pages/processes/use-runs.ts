import type { Envelope } from "@svc/sdk";
import { useCallback, useEffect, useRef, useState } from "react";
import { type ApiError, cancelled, isCancelled } from "../../data/api-error.ts";
import { useLive } from "../../data/live.ts";
import { request } from "../../data/request.ts";
import type { Run, RunPage } from "./run-types.ts";

/** Filter of runs. */
export interface RunFilter {
  readonly status?: "open" | "failed";
  readonly text?: string;
}

/** The runs that are listed, page by page. */
export interface RunList {
  readonly runs: readonly Run[];
  /** New runs that are not in the list yet: inserting them would move rows under the pointer. */
  readonly fresh: number;
  readonly loading: boolean;
  readonly error?: ApiError;
  readonly more: boolean;
  /** Reads the next page. */
  next(): void;
  /** Puts the fresh ones on top. */
  showFresh(): void;
  reload(): void;
  /** Stops the first reading. */
  cancel(): void;
}

/** Changes of one moment are read together. */
const SETTLE_MS = 400;
const PAGE = 100;
/** Older rows that changed are read one by one, so many at a time. */
const MOST_ALONE = 10;

const pathOf = ({ status, text }: RunFilter, cursor?: string): string => {
  const query = new URLSearchParams({ summary: "1", limit: String(PAGE) });
  if (status !== undefined) query.set("status", status);
  if (text !== undefined && text !== "") query.set("text", text);
  if (cursor !== undefined) query.set("cursor", cursor);
  return `/api/workflows/runs?${query}`;
};

/** Reads the runs of a filter and keeps them up to date in their places. `atRest` says whether new rows may enter at the top by themselves. */
export function useRuns({ status, text }: RunFilter, atRest: () => boolean): RunList {
  const [shown, setShown] = useState<{ runs: readonly Run[]; fresh: readonly Run[]; next?: string }>({ runs: [], fresh: [] });
  const [busy, setBusy] = useState<"first" | "next" | undefined>("first");
  const [error, setError] = useState<ApiError>();
  const now = useRef({ shown, atRest, error, generation: 0 });
  now.current.shown = shown;
  now.current.error = error;
  now.current.atRest = atRest;

  const put = useCallback((next: typeof shown) => {
    now.current.shown = next;
    setShown(next);
  }, []);

  const reading = useRef<AbortController>(undefined);
  const load = useCallback(async () => {
    now.current.generation += 1;
    const { generation } = now.current;
    setBusy("first");
    if (isCancelled(now.current.error)) setError(undefined);
    const abort = new AbortController();
    reading.current = abort;
    try {
      const page = await request<RunPage>("GET", pathOf({ ...(status && { status }), ...(text && { text }) }), undefined, { signal: abort.signal });
      if (now.current.generation !== generation) return;
      put({ runs: page.runs, fresh: [], ...(page.next === undefined ? {} : { next: page.next }) });
      setError(undefined);
    } catch (failure) {
      if (now.current.generation === generation) setError(failure as ApiError);
    }
    if (now.current.generation === generation) setBusy(undefined);
  }, [status, text, put]);

  useEffect(() => {
    put({ runs: [], fresh: [] });
    void load();
    return () => {
      now.current.generation += 1;
    };
  }, [load, put]);

  /** The first page again, and older rows of which something was heard; rows keep their places. */
  const refresh = useCallback(
    async (heard: ReadonlySet<string>) => {
      const { generation } = now.current;
      if (isCancelled(now.current.error)) return;
      try {
        const page = await request<RunPage>("GET", pathOf({ ...(status && { status }), ...(text && { text }) }));
        const first = new Set(page.runs.map(({ id }) => id));
        const older = now.current.shown.runs.filter(({ id }) => heard.has(id) && !first.has(id)).slice(0, MOST_ALONE);
        const alone = await Promise.all(older.map(({ id }) => request<Run>("GET", `/api/workflows/runs/${id}?brief=1`).catch(() => undefined)));
        if (now.current.generation !== generation) return;
        const changed = new Map([...page.runs, ...alone.filter((run) => run !== undefined)].map((run) => [run.id, run]));
        const { shown: before } = now.current;
        const known = new Set(before.runs.map(({ id }) => id));
        const newest = before.runs[0]?.createdAt ?? "";
        const fresh = page.runs.filter(({ id, createdAt }) => !known.has(id) && createdAt >= newest);
        const runs = before.runs.map((run) => changed.get(run.id) ?? run);
        put(now.current.atRest() ? { ...before, runs: [...fresh, ...runs], fresh: [] } : { ...before, runs, fresh });
        setError(undefined);
      } catch {
        // Keep the shown rows; the shell's bar reports the lost connection.
      }
    },
    [status, text, put],
  );

  const heard = useRef({ ids: new Set<string>(), timer: undefined as ReturnType<typeof setTimeout> | undefined });
  useEffect(() => () => clearTimeout(heard.current.timer), []);
  useLive(({ name, data }) => {
    if (name === "gap") return void refresh(new Set(now.current.shown.runs.map(({ id }) => id)));
    const { kind, data: facts } = data as Envelope;
    if (name !== "event" || (kind !== "run" && kind !== "task")) return;
    const runId = facts?.["runId"];
    if (typeof runId !== "string") return;
    heard.current.ids.add(runId);
    heard.current.timer ??= setTimeout(() => {
      const { ids } = heard.current;
      heard.current = { ids: new Set(), timer: undefined };
      void refresh(ids);
    }, SETTLE_MS);
  });

  const next = useCallback(async () => {
    const { shown: before, generation } = now.current;
    if (before.next === undefined || busy !== undefined) return;
    setBusy("next");
    try {
      const page = await request<RunPage>("GET", pathOf({ ...(status && { status }), ...(text && { text }) }, before.next));
      if (now.current.generation !== generation) return;
      const { shown: current } = now.current;
      const known = new Set(current.runs.map(({ id }) => id));
      put({
        runs: [...current.runs, ...page.runs.filter(({ id }) => !known.has(id))],
        fresh: current.fresh,
        ...(page.next === undefined ? {} : { next: page.next }),
      });
    } catch (failure) {
      if (now.current.generation === generation) setError(failure as ApiError);
    }
    if (now.current.generation === generation) setBusy(undefined);
  }, [busy, status, text, put]);

  return {
    runs: shown.runs,
    fresh: shown.fresh.length,
    loading: busy === "first" && shown.runs.length === 0,
    ...(error === undefined ? {} : { error }),
    more: shown.next !== undefined,
    next: () => void next(),
    showFresh: () => put({ ...shown, runs: [...shown.fresh, ...shown.runs], fresh: [] }),
    reload: () => void load(),
    cancel() {
      if (busy !== "first" || shown.runs.length > 0) return;
      now.current.generation += 1;
      reading.current?.abort();
      setBusy(undefined);
      setError(cancelled());
    },
  };
}
