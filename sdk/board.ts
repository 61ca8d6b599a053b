/** A piece of work that a source keeps: an issue of a tracker, a line of a backlog. */
export interface WorkItem {
  /** By which `get` and `update` find it: the same for as long as the source keeps the item. */
  readonly id: string;
  readonly title: string;
  readonly state: "open" | "closed";
  readonly labels: readonly string[];
  /** Milliseconds since 1970, as the source has it. */
  readonly updatedAt: number;
  readonly closedAt?: number;
  /** Where in the source it lies, such as the path of a project. */
  readonly project?: string;
  /** Names at the source. */
  readonly assignees?: readonly string[];
  /** Ids of agents that assignees stand for, where the source has a mapping of its users to agents. */
  readonly agents?: readonly string[];
  /** For people, to open it. */
  readonly url?: string;
  /** The whole text. `list` may leave it out. */
  readonly text?: string;
}

/** Which items to list; what is left out does not narrow. */
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

/** A label that a source has, whether an item has it or not. */
export interface WorkLabel {
  readonly name: string;
  /** `#RRGGBB`, as the source shows it. */
  readonly color?: string;
  readonly description?: string;
}

/**
 * A source of work items, named in `boards[].source.type`. What the source refuses is thrown with the source's words and its `status`
 * (401 for a token that may not, 403 for a missing right): people are shown both.
 */
export interface Board {
  readonly name: string;
  /** The items as the source has them now. */
  list(query: WorkQuery, signal: AbortSignal): Promise<readonly WorkItem[]>;
  /** Undefined for an item that the source does not have, or that it does not show to us. */
  get(id: string, signal: AbortSignal): Promise<WorkItem | undefined>;
  /**
   * Changes an item in one call at the source, as a whole or not at all, and resolves with the item as it is then. Never makes a label:
   * one that the source does not have is refused. Rejects with `status` 404 for an item that is not there. A board without it is read only.
   */
  update?(id: string, change: WorkChange, signal: AbortSignal): Promise<WorkItem>;
  /** The labels that items of these projects may get, each once, by name; at most 5,000. A board without it does not know. */
  labels?(projects: readonly string[], signal: AbortSignal): Promise<readonly WorkLabel[]>;
}
