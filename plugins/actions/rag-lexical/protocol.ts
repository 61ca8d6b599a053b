import type { Piece } from "./pieces.ts";

/** A file as the walk found it. */
export interface Seen {
  readonly path: string;
  readonly mtimeMs: number;
  readonly size: number;
}

/** A file to put into the index; no pieces for one that holds no text. */
export interface Document extends Seen {
  readonly pieces: readonly Piece[];
}

/** One place that fits, best first in a list. */
export interface Hit {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  /** BM25: larger fits better; comparable within one answer. */
  readonly score: number;
  readonly snippet: string;
}

/** Requests of the main thread to the worker. `file` is the index file's real path. */
export type Ask =
  /** Begin a run: makes the file when it is not there. Answers false when it is damaged or of another layout; remove it, then begin again. */
  | { readonly op: "begin"; readonly file: string }
  /** Returns which of these have changed since they were indexed. Also records that they exist. */
  | { readonly op: "changed"; readonly file: string; readonly seen: readonly Seen[] }
  | { readonly op: "put"; readonly file: string; readonly documents: readonly Document[] }
  /** Drop a batch of files that this run has not seen. Answers how many; 0 when none is left. */
  | { readonly op: "sweep"; readonly file: string }
  /** End a run: from now on the index counts as there. */
  | { readonly op: "end"; readonly file: string }
  | { readonly op: "search"; readonly file: string; readonly match: string; readonly limit: number };

/** The type of the answer to each question. */
export interface Answers {
  begin: boolean;
  changed: readonly string[];
  put: null;
  sweep: number;
  end: { readonly files: number; readonly pieces: number };
  /** `null` when there is no complete index. */
  search: readonly Hit[] | null;
}

/** A question to the worker, numbered so that its reply can be matched. */
export type Question = Ask & { readonly id: number };
