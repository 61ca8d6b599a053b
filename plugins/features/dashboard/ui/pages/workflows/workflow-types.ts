/** A run as the list shows it. */
export interface LastRun {
  readonly id: string;
  readonly status: "running" | "paused" | "completed" | "failed" | "canceled";
  readonly waitsForPerson?: true;
  readonly createdAt: string;
  readonly endedAt?: string;
}

/** Trigger of a workflow beside people. */
export interface Starter {
  readonly kind: "schedule" | "webhook" | "messages";
  readonly id: string;
  readonly detail?: string;
}

/** One thing that is wrong with a definition. */
export interface Finding {
  readonly message: string;
  readonly line: number;
  readonly severity: "error" | "warning";
}

/** Top-level fields of a definition. */
export interface Head {
  readonly id: string;
  readonly name?: string;
  readonly description?: string;
  readonly ownerAgent?: string;
  readonly tags?: readonly string[];
  readonly generatedFrom?: string;
  readonly confidence?: number;
  readonly sourceTaskIds?: readonly string[];
}

/** A row of `GET /api/workflows?runs=10`. */
export interface WorkflowRow {
  readonly definition: Head;
  readonly format: "json" | "yaml";
  readonly file: string;
  readonly problems: readonly Finding[];
  readonly broken: boolean;
  readonly lastRuns?: readonly LastRun[];
  readonly starters?: readonly Starter[];
  readonly nextStart?: string;
}

/** A row of `GET /api/workflows/drafts`. */
export interface DraftRow {
  readonly definition: Head;
  readonly file: string;
  readonly problems: readonly Finding[];
  readonly updatedAt: string;
}

/** Returns the display name. */
export const titleOf = ({ name, id }: Head): string => (typeof name === "string" && name !== "" ? name : id);

/** Tags as a list, whatever a file that cannot be run says. */
export const tagsOf = ({ tags }: Head): readonly string[] => (Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : []);
