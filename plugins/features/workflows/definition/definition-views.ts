import type { Definition, InputField } from "../engine/types.ts";
import type { Checked } from "./check-definition.ts";
import { definitionError } from "./definition-errors.ts";
import type { Loaded } from "./definitions.ts";
import { firstError, type Problem } from "./problem.ts";

/** Throws 400 for what its schema refuses and 422 for what cannot be run, both with the problems. */
export function requireRunnable(id: string, { definition, problems }: Checked): void {
  const reason = firstError(problems);
  if (reason === undefined) return;
  throw definitionError(definition === undefined ? "SVC_WORKFLOW_SCHEMA" : "SVC_WORKFLOW_LINT", { id, reason, problems });
}

/** The fields that a workflow takes. */
export function inputSchemaOf({ nodes }: Definition): Readonly<Record<string, InputField>> {
  const trigger = nodes.find((node) => node.kind === "trigger");
  return trigger?.inputSchema ?? {};
}

/** Returns the top-level fields of a definition, without its graph. */
export function headOf({ id, value }: Pick<Loaded, "id" | "value">): Readonly<Record<string, unknown>> {
  const { nodes: _nodes, edges: _edges, ...head } = value ?? {};
  return { ...head, id };
}

/** Returns a draft as lists show it. */
export const draftView = (
  draft: Pick<Loaded, "id" | "value"> & { readonly file: string; readonly problems: readonly Problem[]; readonly updatedAt: string },
) => ({
  definition: headOf(draft),
  file: draft.file,
  problems: draft.problems,
  updatedAt: draft.updatedAt,
});
