/** One thing that is wrong with a definition, and where. */
export interface Problem {
  readonly message: string;
  /** JSON pointer into the definition. */
  readonly pointer: string;
  readonly line: number;
  readonly column: number;
  readonly severity: "error" | "warning";
  readonly code: string;
}

/** Why only the text can be changed, and where. */
export interface Lock {
  readonly line: number;
  readonly column: number;
  readonly reason: string;
}

/** Answer of `POST /api/workflows/check`. */
export interface Checked {
  readonly format: "json" | "yaml";
  readonly text: string;
  readonly definition: Readonly<Record<string, unknown>> | null;
  readonly hash: string;
  readonly problems: readonly Problem[];
  readonly locked?: Lock;
}

/** Answer of `GET /api/workflows/:id/text`. */
export interface Source extends Checked {
  readonly etag: string;
  readonly layout: unknown;
  readonly file: string;
}

/** Answer of `GET /api/workflow-editor`. */
export interface Desk {
  readonly mode: "edit" | "readonly" | "disabled";
  readonly schema: Readonly<Record<string, unknown>>;
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  readonly actions: readonly { readonly name: string; readonly description: string; readonly input: Readonly<Record<string, unknown>> }[];
  readonly examples: readonly { readonly id: string; readonly name: string; readonly description: string; readonly text: string }[];
}

/** Subject of the page: a workflow, a draft, or a new one (blank, or an example's name). */
export type Subject = { readonly kind: "workflow" | "draft" | "new"; readonly id: string };
