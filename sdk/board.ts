/** A piece of work that a source keeps: an issue of a tracker, a line of a backlog. */
export interface WorkItem {
  /** Key for `get` and `update`: stable for as long as the source keeps the item. */
  readonly id: string;
  readonly title: string;
  readonly state: "open" | "closed";
  readonly labels: readonly string[];
  /** Milliseconds since 1970, from the source. */
  readonly updatedAt: number;
  readonly closedAt?: number;
  /** Where in the source it lies, such as the path of a project. */
  readonly project?: string;
  /** Names at the source. */
  readonly assignees?: readonly string[];
  /** Ids of agents that correspond to assignees, where the source maps its users to agents. */
  readonly agents?: readonly string[];
  /** For people, to open it. */
  readonly url?: string;
  /** The whole text. `list` may leave it out. */
  readonly text?: string;
}

/** Filter of work items; an omitted field does not narrow. */
export interface WorkQuery {
  readonly projects?: readonly string[];
  readonly state?: WorkItem["state"];
  /** Labels that an item has all of. */
  readonly labels?: readonly string[];
  /** Open items updated, closed items closed at this time or later; milliseconds since 1970. */
  readonly since?: number;
  /** Items at most, the last updated first; default 100, at most 1,000. */
  readonly limit?: number;
}

/** One change of an item. A label that is neither added nor removed stays. */
export interface WorkChange {
  readonly addLabels?: readonly string[];
  readonly removeLabels?: readonly string[];
  readonly state?: WorkItem["state"];
}

/** A label of a source, used by an item or not. */
export interface WorkLabel {
  readonly name: string;
  /** `#RRGGBB`, as the source shows it. */
  readonly color?: string;
  readonly description?: string;
}

/**
 * A source of work items, named in `boards[].source.type`. An error of the source is thrown with its own message and its `status` (401 for an invalid
 * token, 403 for a missing right): people are shown both.
 */
export interface Board {
  readonly name: string;
  /** The items as the source has them now. */
  list(query: WorkQuery, signal: AbortSignal): Promise<readonly WorkItem[]>;
  /** Undefined for an item that the source does not have, or that it does not show to us. */
  get(id: string, signal: AbortSignal): Promise<WorkItem | undefined>;
  /**
   * Changes an item atomically in one call at the source, and resolves with the changed item. Never creates a label: an unknown one is refused.
   * Rejects with `status` 404 for an unknown item. A board without it is read-only.
   */
  update?(id: string, change: WorkChange, signal: AbortSignal): Promise<WorkItem>;
  /** The labels that items of these projects may get, each once, by name; at most 5,000. A board without it does not know. */
  labels?(projects: readonly string[], signal: AbortSignal): Promise<readonly WorkLabel[]>;
}
