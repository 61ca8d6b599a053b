import { completePlaces } from "../../graph/auto-layout.ts";
import { type GraphDefinition, type Places, readGraph, readPlaces, type Scope } from "../../graph/graph-types.ts";
import { type Change, changesOf } from "./changes.ts";
import type { Checked, Lock, Problem, Source, Subject } from "./editor-types.ts";
import { type History, historyOf } from "./history.ts";

/** What is stored of the subject, as it was read or saved last. */
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
  /** What the server says of what is edited; of an older state while `stale`. */
  readonly checked?: Checked;
  readonly stale: boolean;
  readonly checkFailed?: string;
  /** What was typed into the text and cannot be read: the graph is the one before. */
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

/** What is not stored. True to the fact: an undo that comes back to what is stored leaves nothing. */
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

/** What is wrong with what is edited, errors first. */
export const problemsOf = ({ checked }: EditorState): readonly Problem[] =>
  [...(checked?.problems ?? [])].sort((one, other) => Number(other.severity === "error") - Number(one.severity === "error") || one.line - other.line);

/** What is edited, as it is read from the server. */
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
