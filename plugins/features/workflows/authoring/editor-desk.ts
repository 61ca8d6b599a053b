import { createRequire } from "node:module";
import type { PluginContext } from "@svc/sdk";
import { checkDefinition } from "../definition/check-definition.ts";
import type { Editor } from "../definition/definition-routes.ts";
import { EXAMPLES, readExample } from "../definition/example-files.ts";
import type { Known } from "../definition/field-lint.ts";
import type { Problem } from "../definition/problem.ts";
import { type Format, readSource } from "../definition/source.ts";
import { editYaml, lockOf, yamlText } from "./yaml-edit.ts";

/** Data that a page needs before a workflow is drawn. */
export interface EditorDesk {
  readonly mode: Editor;
  /** The JSON schema of definitions: forms are drawn from it. */
  readonly schema: object;
  readonly agents: readonly { readonly id: string; readonly name: string }[];
  readonly actions: readonly { readonly name: string; readonly description: string; readonly input: object }[];
  readonly examples: readonly { readonly id: string; readonly name: string; readonly description: string; readonly text: string }[];
}

/** A definition as it is edited. */
export interface EditCheck {
  readonly format: Format;
  /** As its file would have it. */
  readonly text: string;
  /** Parsed text; null if it cannot be parsed. */
  readonly definition: Readonly<Record<string, unknown>> | null;
  /** Empty where it cannot be run. */
  readonly hash: string;
  /** Lines and columns are of `text`. */
  readonly problems: readonly Problem[];
  /** Why only the text can be changed, and not the graph. */
  readonly locked?: { readonly line: number; readonly column: number; readonly reason: string };
}

/** Returns the data for the page that edits workflows. */
export function deskOf({ agents, actions }: Pick<PluginContext, "agents" | "actions">, mode: Editor): EditorDesk {
  return {
    mode,
    schema: createRequire(import.meta.url)("@svc/feature-workflows/workflow-definition.schema.json") as object,
    agents: agents.list().map(({ id, name }) => ({ id, name: name ?? id })),
    actions: actions.list().map(({ name, description, input }) => ({ name, description, input })),
    examples: EXAMPLES.map((id) => {
      const text = readExample(id) ?? "";
      const { name, description } = (readSource(text, "yaml").value ?? {}) as { name?: string; description?: string };
      return { id, name: name ?? id, description: description ?? "", text };
    }),
  };
}

/** Checks a text as a file has it. */
export function checkText(text: string, id: string, format: Format, known: Known): EditCheck {
  const { value, hash, problems } = checkDefinition(text, { id, format, known });
  const locked = format === "yaml" && value !== undefined ? lockOf(text) : undefined;
  return { format, text, definition: value ?? null, hash, problems, ...(locked === undefined ? {} : { locked }) };
}

/**
 * Checks an edit as YAML and writes nothing: a text, or a definition that is written into the text (the author's, whose comments stay).
 * A definition for a text that says nothing is written anew.
 */
export function checkEdit(
  { id, text, definition }: { readonly id: string; readonly text?: string; readonly definition?: Readonly<Record<string, unknown>> },
  known: Known,
): EditCheck {
  if (definition === undefined) return checkText(text ?? "", id, "yaml", known);
  // Do not write a value that cannot be read back: hostile keys, unlimited nesting.
  const fresh = checkDefinition(JSON.stringify(definition), { id, format: "json", known });
  if (fresh.value === undefined) return { format: "yaml", text: text ?? "", definition: null, hash: "", problems: fresh.problems };
  const readable = text !== undefined && readSource(text, "yaml").value !== undefined && lockOf(text) === undefined;
  return checkText(readable ? editYaml(text, definition) : yamlText(definition), id, "yaml", known);
}
