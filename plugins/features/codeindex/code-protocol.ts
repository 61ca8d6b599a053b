import type { Placed } from "./code-database.ts";
import type { Found } from "./definitions.ts";

/** Progress of a run. */
export interface Progress {
  /** Files of code looked at. */
  readonly files: number;
  /** Of these, those that were read because they are new or have changed. */
  readonly read: number;
  /** Files that are gone. */
  readonly removed: number;
}

/** The figures of a finished run. */
export interface Finished extends Progress {
  readonly definitions: number;
  /** Files of which nothing was read: too large, binary, or unreadable. */
  readonly skipped: number;
  readonly durationMs: number;
  /** The thread that did it. */
  readonly thread: number;
}

/** Requests to the worker thread. `root`: the real path of the workspace; `file`: that of the index. */
export type Ask =
  | { readonly op: "index"; readonly root: string; readonly file: string }
  | { readonly op: "definition"; readonly file: string; readonly name: string; readonly limit: number }
  | { readonly op: "references"; readonly root: string; readonly file: string; readonly name: string; readonly limit: number }
  | { readonly op: "outline"; readonly root: string; readonly file: string; readonly path: string; readonly limit: number };

/** The answer to each; null where there is no complete index. */
export interface Answers {
  index: Finished;
  definition: { readonly places: readonly Placed[]; readonly loosely: boolean } | null;
  references: { readonly places: readonly (Found & { readonly path: string })[]; readonly more: boolean } | null;
  outline: { readonly path?: string; readonly places: readonly Placed[]; readonly others: readonly string[]; readonly problem?: string } | null;
}

/** A question, numbered so that its reply can be matched. */
export type Question = Ask & { readonly id: number };
