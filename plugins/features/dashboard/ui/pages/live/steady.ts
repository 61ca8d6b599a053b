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

/** The tasks that run or wait, in the order in which they were first seen: a new one comes last, an ended one stays where it is for a while. */
export function useKeptTasks(now: TasksNow | undefined): readonly KeptTask[] {
  const kept = useRef(new Map<string, KeptTask>());
  const [shown, setShown] = useState<readonly KeptTask[]>([]);
  useEffect(() => {
    if (now === undefined) return undefined;
    const tasks = new Map([...now.running, ...now.queued].map((task) => [task.id, task]));
    const ended = new Map(now.ended.map((row) => [row.id, row]));
    const at = Date.now();
    for (const [id, { task, endedAt }] of kept.current) {
      const newer = tasks.get(id);
      if (newer !== undefined) kept.current.set(id, { task: newer });
      else {
        const row = ended.get(id);
        const last: TaskNow = row === undefined ? { ...task, state: task.state === "running" ? "ok" : task.state } : { ...task, ...row, text: task.text };
        kept.current.set(id, { task: last, endedAt: endedAt ?? at });
      }
    }
    for (const [id, task] of tasks) if (!kept.current.has(id)) kept.current.set(id, { task });
    const show = () => {
      const before = kept.current.size;
      for (const [id, { endedAt }] of kept.current) if (endedAt !== undefined && Date.now() - endedAt > KEEP_MS && !held(id)) kept.current.delete(id);
      return before !== kept.current.size;
    };
    show();
    setShown([...kept.current.values()]);
    const timer = setInterval(() => show() && setShown([...kept.current.values()]), LOOK_MS);
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
