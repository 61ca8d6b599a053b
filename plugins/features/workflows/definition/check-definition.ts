import type { Definition } from "../engine/types.ts";
import { definitionHash } from "./definition-hash.ts";
import { schemaFindings } from "./definition-schema.ts";
import type { Known } from "./field-lint.ts";
import { isRecord } from "./json.ts";
import { lintFindings } from "./lint.ts";
import type { Finding, Problem } from "./problem.ts";
import { type Format, readSource } from "./source.ts";

/** A definition's text, checked. */
export interface Checked {
  /** Parsed text, if it can be parsed. */
  readonly value?: Readonly<Record<string, unknown>>;
  /** Where its schema takes it. It can be run when no problem is an error. */
  readonly definition?: Definition;
  /** Empty where there is no definition. */
  readonly hash: string;
  readonly problems: readonly Problem[];
}

/** Ids of workflows: no word of the paths below /api/workflows (WF-07), no way out of the folder. */
const ID = /^(?!(?:runs|drafts|tasks|signals)$)(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,63}$/;

/** Whether a workflow may have this id. */
export const isWorkflowId = (id: string): boolean => ID.test(id) && !id.endsWith(".layout");

/** Reads and checks a definition's text. `id` is what its file is called. Never throws for what the text says. */
export function checkDefinition(text: string, { id, format, known = {} }: { readonly id: string; readonly format: Format; readonly known?: Known }): Checked {
  const { value, problems, place } = readSource(text, format);
  if (value === undefined) return { hash: "", problems };
  const located = ({ pointer, ...finding }: Finding): Problem => ({ ...finding, pointer, ...place(pointer) });
  if (!isRecord(value))
    return { hash: "", problems: [...problems, located({ message: "A workflow is an object.", pointer: "", severity: "error", code: "SCHEMA" })] };
  const schema = [...schemaFindings(value), ...idFindings(value, id)];
  if (schema.length > 0) return { value, hash: "", problems: [...problems, ...schema.map(located)] };
  const definition = { ...value, id } as unknown as Definition;
  return { value, definition, hash: definitionHash(definition), problems: [...problems, ...lintFindings(definition, known).map(located)] };
}

function idFindings({ id: given }: Readonly<Record<string, unknown>>, id: string): readonly Finding[] {
  const refuse = (message: string): Finding => ({ message, pointer: given === undefined ? "" : "/id", severity: "error", code: "ID" });
  if (!isWorkflowId(id))
    return [
      refuse(`${id} cannot be the id of a workflow: it needs lower-case letters, digits, ".", "_" and "-", and is none of runs, drafts, tasks, signals.`),
    ];
  return given === undefined || given === id ? [] : [refuse(`The id is ${String(given)}, but the file is called ${id}; give both the same name.`)];
}
