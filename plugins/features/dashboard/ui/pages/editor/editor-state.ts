import { completePlaces } from "../../graph/auto-layout.ts";
import { type GraphDefinition, type Places, readGraph, readPlaces, type Scope } from "../../graph/graph-types.ts";
import { type Change, changesOf } from "./changes.ts";
import type { Checked, Lock, Problem, Source, Subject } from "./editor-types.ts";
import { type History, historyOf } from "./history.ts";

/** Stored version of the subject, as last loaded or saved. */
export interface Stored {
  readonly definition: GraphDefinition;
  /** As YAML. */
  readonly text: string;
  readonly hash: string;
  readonly etag: string;
  readonly format: "json" | "yaml";
  readonly file: string;
}

/** Everything the page draws. A new object with each change. */
export interface EditorState {
  readonly subject: Subject;
  /** The id that it is saved under. */
  readonly id: string;
  readonly history: History;
  /** Absent: there is nothing stored yet. */
  readonly stored?: Stored;
  /** The server's check of the definition; of an older state while `stale`. */
  readonly checked?: Checked;
  readonly stale: boolean;
  readonly checkFailed?: string;
  /** Typed text that cannot be parsed: the graph is the previous one. */
  readonly typed?: string;
  readonly lock?: Lock;
  /** False: the graph cannot show all that the text says. */
  readonly whole: boolean;
  readonly places: Places;
  readonly scope: Scope;
  readonly selected: readonly string[];
  readonly selectedEdges: readonly string[];
  /** The field that a finding led to, and a number that tells one wish from the next. */
  readonly wanted?: { readonly field: string; readonly line?: number; readonly wish: number };
  readonly wish: number;
}

/** Returns the unsaved changes. An undo back to the stored version leaves none. */
export const changesIn = ({ stored, history }: EditorState): readonly Change[] =>
  changesOf(stored?.definition ?? { nodes: [], edges: [] }, history.now.definition);

/** Whether something would be lost. */
export function isUnsaved(state: EditorState): boolean {
  const { stored, typed, history, checked } = state;
  if (typed !== undefined) return typed !== stored?.text;
  if (stored === undefined) return history.past.length > 0;
  // Comments count, too, where they are kept.
  return changesIn(state).length > 0 || (stored.format === "yaml" && history.now.text !== stored.text && checked?.text !== stored.text);
}

/** Why the graph cannot be changed now, where it cannot. */
export function closedBy({ lock, whole, typed }: EditorState): "locked" | "unread" | undefined {
  if (lock !== undefined || !whole) return "locked";
  return typed === undefined ? undefined : "unread";
}

/** Returns the problems of the definition, errors first. */
export const problemsOf = ({ checked }: EditorState): readonly Problem[] =>
  [...(checked?.problems ?? [])].sort((one, other) => Number(other.severity === "error") - Number(one.severity === "error") || one.line - other.line);

/** Returns the state of a loaded definition. */
export function stateOf(subject: Subject, { definition: value, text, hash, etag, format, file, layout, locked, ...source }: Source): EditorState {
  const { definition, whole } = readGraph(value);
  const places = completePlaces(definition, readPlaces(layout));
  const written = format === "yaml" ? text : "";
  const checked: Checked = { format, text, definition: value, hash, problems: source.problems };
  return {
    subject,
    id: subject.id,
    history: historyOf({ definition, text: written }),
    // A file that cannot be read is its text, whatever its format.
    stored: { definition, text: value === null ? text : written, hash, etag, format, file },
    checked,
    stale: format === "json",
    whole: whole || value === null,
    places,
    scope: [],
    selected: [],
    selectedEdges: [],
    wish: 0,
    ...(value === null ? { typed: text } : {}),
    ...(locked === undefined ? {} : { lock: locked }),
  };
}

/** A workflow that there is not yet: blank with a start and an end, or an example's text. */
export function newState(definition: GraphDefinition, text: string, id: string): EditorState {
  return {
    subject: { kind: "new", id: "" },
    id,
    history: historyOf({ definition, text }),
    stale: true,
    whole: true,
    places: completePlaces(definition, new Map()),
    scope: [],
    selected: [],
    selectedEdges: [],
    wish: 0,
  };
}
