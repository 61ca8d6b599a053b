import { useSyncExternalStore } from "react";
import { useMe } from "../../data/me.ts";
import { useResource } from "../../data/resource.ts";
import type { RunPage } from "./run-types.ts";

const KEY = "svc.processes.seen";
const WEEK_MS = 7 * 86_400_000;
const listeners = new Set<() => void>();

/** Until when the person has seen the failed runs, in Unix ms; a week back where the page was never opened. Kept in the browser. */
function seenUntil(): string {
  try {
    return localStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** The failed runs of now are seen: the page was opened, or the daemon told of one while it was open. */
export function markSeen(): void {
  try {
    localStorage.setItem(KEY, new Date().toISOString());
  } catch {
    // A browser that stores nothing counts the last week.
  }
  for (const listener of [...listeners]) listener();
}

/** The runs that failed since the page was last looked at; undefined while that is not known, or nothing runs here. */
export function useFailedCount(): number | undefined {
  const seen = useSyncExternalStore((listener) => {
    listeners.add(listener);
    addEventListener("storage", listener);
    return () => {
      listeners.delete(listener);
      removeEventListener("storage", listener);
    };
  }, seenUntil);
  const { data: me } = useMe();
  const since = seen === "" ? new Date(Math.floor(Date.now() / WEEK_MS) * WEEK_MS - WEEK_MS).toISOString() : seen;
  const { data } = useResource<RunPage>(
    me?.has.workflows === true ? `/api/workflows/runs?summary=1&limit=100&status=failed&ended=${encodeURIComponent(since)}` : undefined,
    {
      refreshOn: ({ kind, type, data: facts }) => kind === "run" && type === "failed" && facts?.["node"] === undefined,
    },
  );
  return data?.runs.length;
}
