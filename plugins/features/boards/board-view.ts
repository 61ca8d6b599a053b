import type { WorkChange, WorkItem, WorkLabel } from "@svc/sdk";
import { type Column, type ColumnId, type ColumnKind, changeOf } from "./columns.ts";

/** A board as `GET /api/boards` shows it. */
export interface BoardView {
  readonly id: string;
  readonly name: string;
  readonly source: { readonly type: string; readonly projects: readonly string[] };
  /** Whether a plugin that runs brings the source. */
  readonly available: boolean;
  /** Whether the source lets cards be moved. */
  readonly movable: boolean;
  readonly labels: readonly { readonly name: string; readonly color?: string; readonly description?: string }[];
  readonly columns: readonly ColumnView[];
  /** Change that a move makes, by the column that is left, then by the one that is entered. */
  readonly changes: Readonly<Record<string, Readonly<Record<string, WorkChange>>>>;
  readonly timeRangeDays: number;
  readonly closedWindowDays: number;
}

/** A column without its cards. */
export interface ColumnView {
  readonly id: ColumnId;
  readonly title: string;
  readonly kind: ColumnKind;
  readonly mapsToLabel?: string;
}

/** An issue on a board. */
export interface Card {
  /** `<project>#<number>`: URL-encoded, the last part of its address. */
  readonly id: string;
  /** Where it is now; null for one that fits no column. */
  readonly column: ColumnId | null;
  readonly title: string;
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  /** Agents that the assignees stand for. */
  readonly agents: readonly string[];
  /** Unix time in milliseconds. */
  readonly updatedAt: number;
  readonly closedAt?: number;
  readonly project?: string;
  readonly url?: string;
}

/** The cards of a board as the source had them at `readAt`. */
export interface BoardItems {
  readonly board: string;
  /** Unix time in milliseconds. */
  readonly readAt: number;
  readonly columns: readonly (ColumnView & { readonly items: readonly Card[] })[];
  /** Open issues with a label of the columns' scope that no column maps. */
  readonly unplaced: readonly Card[];
  /** The source had more than a board shows. */
  readonly truncated: boolean;
}

/** Candidates for the columns of a board. */
export interface BoardLabels {
  readonly labels: readonly WorkLabel[];
  /** The six columns of a board that names none. */
  readonly columns: readonly ColumnView[];
}

/** A column as it is shown. */
export const columnView = ({ id, title, kind, label }: Column): ColumnView => ({ id, title, kind, ...(label === undefined ? {} : { mapsToLabel: label }) });

/** Returns the change of each move between the columns. */
export const changesOf = (columns: readonly Column[]): BoardView["changes"] =>
  Object.fromEntries(
    columns.map((from) => [from.id, Object.fromEntries(columns.filter((to) => to !== from).map((to) => [to.id, changeOf(from, to, columns)]))]),
  );

/** The item without what a board does not show; an address that is no web page is left out. */
export function cardOf(item: WorkItem, column: Column | undefined): Card {
  const { id, title, labels, assignees = [], agents = [], updatedAt, closedAt, project, url } = item;
  return {
    id,
    column: column?.id ?? null,
    title,
    labels,
    assignees,
    agents,
    updatedAt,
    ...(closedAt === undefined ? {} : { closedAt }),
    ...(project === undefined ? {} : { project }),
    ...(url !== undefined && /^https?:\/\//i.test(url) ? { url } : {}),
  };
}
