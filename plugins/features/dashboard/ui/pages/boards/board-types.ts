/** Change that a move writes at the source. */
export interface Change {
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  readonly state?: "open" | "closed";
}

/** One of the six columns. */
export interface Column {
  readonly id: string;
  readonly title: string;
  readonly kind: "open-backlog" | "scoped-label" | "closed" | "label";
  readonly mapsToLabel?: string;
}

/** A board without its cards. */
export interface Board {
  readonly id: string;
  readonly name: string;
  readonly source: { readonly type: string; readonly projects: readonly string[] };
  readonly available: boolean;
  readonly movable: boolean;
  readonly labels: readonly { readonly name: string; readonly color?: string; readonly description?: string }[];
  readonly columns: readonly Column[];
  /** By the column that is left, then by the one that is entered. */
  readonly changes: Readonly<Record<string, Readonly<Record<string, Change>>>>;
  readonly timeRangeDays: number;
  readonly closedWindowDays: number;
}

/** An issue on a board. Times in Unix milliseconds. */
export interface Card {
  readonly id: string;
  readonly column: string | null;
  readonly title: string;
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly agents: readonly string[];
  readonly updatedAt: number;
  readonly project?: string;
  readonly url?: string;
}

/** The cards as the source had them at `readAt`. */
export interface BoardItems {
  readonly board: string;
  readonly readAt: number;
  readonly columns: readonly (Column & { readonly items: readonly Card[] })[];
  readonly unplaced: readonly Card[];
  readonly truncated: boolean;
}
