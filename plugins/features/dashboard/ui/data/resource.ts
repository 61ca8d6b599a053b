import type { Envelope } from "@svc/sdk";
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { type ApiError, cancelled, isCancelled } from "./api-error.ts";
import { onConnected, onFrame } from "./live.ts";
import { request } from "./request.ts";
import { session } from "./session.ts";

/** State of a path: data of the last answer stays while it is reloaded, and when that fails. */
export interface Resource<T> {
  readonly data?: T;
  readonly error?: ApiError;
  readonly loading: boolean;
  /** It has been loading for 5 s. */
  readonly slow: boolean;
  /** When the data was read, in Unix ms. */
  readonly at?: number;
  reload(): void;
  /** Stops the first reading: `error` says so, and it is read again when a person asks, or for another one. */
  cancel(): void;
}

/** Options of a resource. */
export interface ResourceOptions {
  /** Events after which it is read again. */
  readonly refreshOn?: (event: Envelope) => boolean;
  /** Requests it from this dashboard itself, whichever daemon is shown: no other code may use its path. */
  readonly here?: boolean;
}

interface State {
  readonly data?: unknown;
  readonly error?: ApiError;
  readonly loading: boolean;
  readonly at?: number;
}

interface Entry {
  state: State;
  readonly users: Set<() => void>;
  abort: AbortController | undefined;
  again: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
}

const SLOW_MS = 5_000;
/** Many events of one moment give one reading. */
const SETTLE_MS = 250;
const MOST_KEPT = 200;
const UNUSED: State = { loading: false };
const entries = new Map<string, Entry>();

function entryOf(path: string): Entry {
  const found = entries.get(path);
  if (found !== undefined) return found;
  const entry: Entry = { state: { loading: false }, users: new Set(), abort: undefined, again: false, timer: undefined };
  entries.set(path, entry);
  for (const [key, { users }] of entries) if (entries.size > MOST_KEPT && users.size === 0 && key !== path) entries.delete(key);
  return entry;
}

function put(entry: Entry, state: State): void {
  entry.state = state;
  for (const user of [...entry.users]) user();
}

/** Paths that are asked of this dashboard itself. */
const here = new Set<string>();

async function load(path: string, entry: Entry): Promise<void> {
  if (entry.state.loading) {
    entry.again = true;
    return;
  }
  // An event that waits to be followed is followed by this reading.
  clearTimeout(entry.timer);
  entry.timer = undefined;
  const abort = new AbortController();
  entry.abort = abort;
  const { error, ...known } = entry.state;
  put(entry, { ...known, ...(error === undefined || isCancelled(error) ? {} : { error }), loading: true });
  try {
    const data = await request("GET", path, undefined, { signal: abort.signal, here: here.has(path) });
    if (!abort.signal.aborted) put(entry, { data, loading: false, at: Date.now() });
  } catch (error) {
    if (!abort.signal.aborted) put(entry, { ...entry.state, error: error as ApiError, loading: false });
  }
  if (entry.again && !abort.signal.aborted) {
    entry.again = false;
    void load(path, entry);
  }
}

function stop(entry: Entry): void {
  if (!entry.state.loading || entry.state.data !== undefined) return;
  entry.abort?.abort();
  entry.again = false;
  put(entry, { loading: false, error: cancelled() });
}

function soon(path: string, entry: Entry): void {
  if (isCancelled(entry.state.error)) return;
  entry.timer ??= setTimeout(() => {
    entry.timer = undefined;
    void load(path, entry);
  }, SETTLE_MS);
}

// After a gap, reload all shown data; drop the rest.
onFrame(({ name }) => {
  if (name === "gap") reloadAll();
});
// Another person or another daemon: nothing of before may be shown.
let seen = `${session.token()} ${session.daemon()}`;
session.subscribe(() => {
  const now = `${session.token()} ${session.daemon()}`;
  if (now === seen) return;
  const changed = now.split(" ")[1] !== seen.split(" ")[1];
  seen = now;
  for (const entry of entries.values()) {
    entry.abort?.abort();
    if (changed) entry.state = { loading: false };
    else entry.state = { ...entry.state, loading: false };
  }
  reloadAll();
});

/** Reloads all shown data; drops the rest. */
export function reloadAll(): void {
  for (const [path, entry] of entries) {
    if (entry.users.size === 0) entries.delete(path);
    else void load(path, entry);
  }
}

/** Reloads the shown data of a path, or of all paths with that prefix: after a change. */
export function reloadResource(path: string, { prefix = false }: { readonly prefix?: boolean } = {}): void {
  for (const [key, entry] of entries)
    if (key === path || (prefix && key.startsWith(path))) void (entry.users.size > 0 ? load(key, entry) : entries.delete(key));
}

/** Changes the shown data of a path optimistically: returns the rollback. */
export function patchResource<T>(path: string, change: (data: T) => T): () => void {
  const entry = entryOf(path);
  const before = entry.state;
  if (before.data !== undefined) put(entry, { ...before, data: change(before.data as T) });
  return () => put(entry, { ...entry.state, data: before.data });
}

/**
 * The JSON that a path of the daemon answers, read once for all who ask; undefined asks nothing. `refreshOn` says which events make it stale.
 */
export function useResource<T>(path: string | undefined, { refreshOn, here: own = false }: ResourceOptions = {}): Resource<T> {
  if (own && path !== undefined) here.add(path);
  const subscribe = useCallback(
    (user: () => void) => {
      if (path === undefined) return () => {};
      const entry = entryOf(path);
      entry.users.add(user);
      if (!entry.state.loading && (entry.state.data === undefined || entry.users.size === 1)) void load(path, entry);
      return () => {
        entry.users.delete(user);
      };
    },
    [path],
  );
  const state = useSyncExternalStore(subscribe, () => (path === undefined ? UNUSED : entryOf(path).state));
  const stale = useRef(refreshOn);
  stale.current = refreshOn;
  useEffect(() => {
    if (path === undefined) return undefined;
    const follow = () => soon(path, entryOf(path));
    const ends = [
      onFrame(({ name, data }) => {
        if (name === "event" && stale.current?.(data as Envelope)) follow();
      }),
      // The first load may be older than the stream: events in between were missed.
      onConnected(() => {
        if (stale.current !== undefined) follow();
      }),
    ];
    return () => {
      for (const end of ends) end();
    };
  }, [path]);
  const reload = useCallback(() => {
    if (path !== undefined) void load(path, entryOf(path));
  }, [path]);
  const cancel = useCallback(() => {
    if (path !== undefined) stop(entryOf(path));
  }, [path]);
  const slow = useSlow(state.loading && state.data === undefined);
  // Between the first drawing and the first request nothing is known yet: that is loading, too.
  const first = path !== undefined && state.data === undefined && state.error === undefined;
  return { ...(state as State & { data?: T }), loading: state.loading || first, slow, reload, cancel };
}

function useSlow(loading: boolean): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!loading) return undefined;
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [loading]);
  return slow;
}
