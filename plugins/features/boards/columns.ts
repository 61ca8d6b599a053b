import type { WorkChange, WorkItem } from "@svc/sdk";
import type { ColumnSettings } from "./settings.ts";

/** The six columns of every board (BRD-01). */
export const COLUMN_IDS = ["triage", "todo", "doing", "on-hold", "review", "done"] as const;

/** One of the six. */
export type ColumnId = (typeof COLUMN_IDS)[number];

/**
 * Rule for the cards of a column. `open-backlog`: open ones without a label of the columns' scopes. `scoped-label`: open ones with the label, of
 * whose scope a card has one. `closed`: closed ones. `label`: open ones with the label, whatever else they have.
 */
export type ColumnKind = "open-backlog" | "scoped-label" | "closed" | "label";

/** A column with everything that its id stands for filled in. */
export interface Column {
  readonly id: ColumnId;
  readonly title: string;
  readonly kind: ColumnKind;
  readonly label?: string;
  /** Prefix of labels that exclude each other: `status::` of `status::doing`. */
  readonly scope?: string;
}

const TITLES: Readonly<Record<ColumnId, string>> = {
  triage: "Triage",
  todo: "To Do",
  doing: "Doing",
  "on-hold": "On Hold",
  review: "Review",
  done: "Done",
};
const KINDS: Readonly<Partial<Record<ColumnId, ColumnKind>>> = { triage: "open-backlog", done: "closed" };

/** A board that names no columns has these. */
const DEFAULTS: readonly ColumnSettings[] = COLUMN_IDS.map((id) => (KINDS[id] === undefined ? { id, mapsToLabel: `status::${id}` } : { id }));

/** The columns of a board, in their order. */
export function columnsOf(settings: readonly ColumnSettings[] = DEFAULTS): readonly Column[] {
  return settings.map(({ id, title = TITLES[id], kind = KINDS[id] ?? "scoped-label", mapsToLabel }) => {
    if (mapsToLabel === undefined) return { id, title, kind };
    const end = mapsToLabel.lastIndexOf("::");
    return { id, title, kind, label: mapsToLabel, ...(end < 0 ? {} : { scope: mapsToLabel.slice(0, end + 2) }) };
  });
}

/** The first column that an item fits. None: an open one with a label of the scope that no column maps. */
export function placeOf({ state, labels }: Pick<WorkItem, "state" | "labels">, columns: readonly Column[]): Column | undefined {
  if (state === "closed") return columns.find(({ kind }) => kind === "closed");
  const labelled = columns.find(({ kind, label }) => (kind === "scoped-label" || kind === "label") && label !== undefined && labels.includes(label));
  if (labelled !== undefined) return labelled;
  const scoped = columns.some(({ kind, scope }) => kind === "scoped-label" && scope !== undefined && labels.some((label) => isOfScope(label, scope)));
  return scoped ? undefined : columns.find(({ kind }) => kind === "open-backlog");
}

/** `a::b::c` is of the scope `a::b::` and of no other, as forges with scoped labels have it. */
const isOfScope = (label: string, scope: string): boolean => label.startsWith(scope) && label.lastIndexOf("::") === scope.length - 2;

/**
 * Returns the change of a move, as one change of the item: the label of the column that it enters, without the other mapped labels of that scope;
 * none of the mapped scoped labels in the backlog and in flat columns. Only labels that columns map are named, so that labels of other scopes
 * survive, and nothing has to be read first.
 */
export function changeOf(from: Column, to: Column, columns: readonly Column[]): WorkChange {
  const of = (kind: ColumnKind) => columns.filter((column) => column.kind === kind);
  const left = [
    // Beside a flat label a scoped one would still show the card in its own column.
    ...of("scoped-label").filter(({ scope }) => to.kind === "open-backlog" || to.kind === "label" || (to.scope !== undefined && scope === to.scope)),
    // The label of the column that is left goes, or the card would still be in it; a closed card keeps its scoped one.
    ...(from.kind === "label" || (from.kind === "scoped-label" && to.kind !== "closed") ? [from] : []),
    // The former column of a closed card is unknown.
    ...(from.kind === "closed" ? of("label") : []),
  ];
  const removeLabels = [...new Set(left.flatMap(({ label }) => (label === undefined || label === to.label ? [] : [label])))];
  return {
    ...(to.label === undefined ? {} : { addLabels: [to.label] }),
    ...(removeLabels.length === 0 ? {} : { removeLabels }),
    ...(to.kind === "closed" ? { state: "closed" } : from.kind === "closed" ? { state: "open" } : {}),
  };
}
