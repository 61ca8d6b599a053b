import { useEffect, useRef, useState } from "react";
import type { TaskNow, TasksNow } from "./live-types.ts";
import type { KeptTask } from "./running-task.tsx";

/** An ended task keeps its place so long, and longer under pointer or focus. */
const KEEP_MS = 5_000;
const LOOK_MS = 500;

/** Whether the person has pointer or focus on the card of a task. */
function held(id: string): boolean {
  const card = document.querySelector(`[data-task="${CSS.escape(id)}"]`);
  return card?.matches(":hover, :focus-within") === true;
}

const isOver = ({ task: { id }, endedAt }: KeptTask, at: number): boolean => endedAt !== undefined && at - endedAt > KEEP_MS && !held(id);

/** The places of tasks, from above to below: an ended one leaves only from the end, or gives its place to a new one, so that no other is moved. */
export function placesOf(before: readonly KeptTask[], { running, queued, ended }: TasksNow, at: number): readonly KeptTask[] {
  const open = new Map([...running, ...queued].map((task) => [task.id, task]));
  const rows = new Map(ended.map((row) => [row.id, row]));
  const places = before.map(({ task, endedAt }): KeptTask => {
    const newer = open.get(task.id);
    if (newer !== undefined) return { task: newer };
    const row = rows.get(task.id);
    const last: TaskNow = row === undefined ? { ...task, state: task.state === "running" ? "ok" : task.state } : { ...task, ...row, text: task.text };
    return { task: last, endedAt: endedAt ?? at };
  });
  const known = new Set(places.map(({ task }) => task.id));
  for (const task of open.values()) {
    if (known.has(task.id)) continue;
    const free = places.findIndex((place) => isOver(place, at));
    if (free === -1) places.push({ task });
    else places[free] = { task };
  }
  return withoutEnd(places, at);
}

function withoutEnd(places: readonly KeptTask[], at: number): readonly KeptTask[] {
  const last = places.findLastIndex((place) => !isOver(place, at));
  return last === places.length - 1 ? places : places.slice(0, last + 1);
}

/** The tasks that run or wait, in the order in which they were first seen; an ended one stays where it is for a while. */
export function useKeptTasks(now: TasksNow | undefined): readonly KeptTask[] {
  const kept = useRef<readonly KeptTask[]>([]);
  const [shown, setShown] = useState<readonly KeptTask[]>([]);
  useEffect(() => {
    if (now === undefined) return undefined;
    kept.current = placesOf(kept.current, now, Date.now());
    setShown(kept.current);
    const timer = setInterval(() => {
      kept.current = withoutEnd(kept.current, Date.now());
      setShown(kept.current);
    }, LOOK_MS);
    return () => clearInterval(timer);
  }, [now]);
  return shown;
}

/**
 * Rows that enter at the top: as long as the person is at rest they enter at once, else they wait and are counted. `rows` are the newest
 * first; `atRest` is asked when newer ones come.
 */
export function useEntering<T>(
  rows: readonly T[] | undefined,
  idOf: (row: T) => string,
  atRest: () => boolean,
  held = false,
): { readonly shown: readonly T[]; readonly waiting: number; enter(): void } {
  const [shown, setShown] = useState<readonly T[]>(rows ?? []);
  const rest = useRef(atRest);
  rest.current = atRest;
  const latest = useRef(rows);
  latest.current = rows;
  const begun = useRef(rows !== undefined);
  useEffect(() => {
    if (rows === undefined) return undefined;
    const look = () => {
      if (begun.current && (held || !rest.current())) return;
      begun.current = true;
      setShown(latest.current ?? []);
    };
    look();
    const timer = setInterval(look, LOOK_MS);
    return () => clearInterval(timer);
  }, [rows, held]);
  const top = shown[0] === undefined ? undefined : idOf(shown[0]);
  const at = top === undefined ? (rows?.length ?? 0) : (rows ?? []).findIndex((row) => idOf(row) === top);
  return { shown, waiting: shown === rows ? 0 : at === -1 ? (rows?.length ?? 0) : at, enter: () => setShown(rows ?? []) };
}
