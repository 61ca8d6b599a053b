import type { GraphDefinition } from "../../graph/graph-types.ts";

/** Edited state: a definition, and the author's text that it is merged into. */
export interface Draft {
  readonly definition: GraphDefinition;
  /** The YAML as it was read or last typed; its comments come back with what an undo brings back. */
  readonly text: string;
}

/** Steps back and forth. */
export interface History {
  readonly now: Draft;
  readonly past: readonly Draft[];
  readonly future: readonly Draft[];
  /** Key of the last step, so that letters typed into one field are one step. */
  readonly key?: string;
}

const MOST = 200;

/** A history that begins here. */
export const historyOf = (now: Draft): History => ({ now, past: [], future: [] });

/** A step; one with the key of the last one replaces it. */
export function step(history: History, now: Draft, key?: string): History {
  if (now.definition === history.now.definition && now.text === history.now.text) return history;
  if (key !== undefined && key === history.key && history.past.length > 0) return { ...history, now, future: [] };
  return { now, past: [...history.past, history.now].slice(-MOST), future: [], ...(key === undefined ? {} : { key }) };
}

/** Goes one step back; returns the same history without one. */
export function undo({ now, past, future }: History): History {
  const before = past.at(-1);
  return before === undefined ? { now, past, future } : { now: before, past: past.slice(0, -1), future: [now, ...future] };
}

/** One step forth again. */
export function redo({ now, past, future }: History): History {
  const [next, ...later] = future;
  return next === undefined ? { now, past, future } : { now: next, past: [...past, now], future: later };
}
