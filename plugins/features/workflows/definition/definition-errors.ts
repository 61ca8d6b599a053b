import { errorTable } from "@svc/sdk";

/** Errors of definitions and drafts: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const DEFINITION_ERRORS = {
  SVC_WORKFLOW_UNKNOWN: [404, "There is no workflow '{id}'; see svc workflow list."],
  SVC_WORKFLOW_ID: [
    400,
    "'{id}' cannot be the id of a workflow: it needs lower-case letters, digits, '.', '_' and '-', and is none of runs, drafts, tasks, signals.",
  ],
  SVC_WORKFLOW_READONLY: [
    403,
    "workflows.editor is '{editor}': definitions, layouts and drafts are not changed here. Change the files, or set workflows.editor to edit.",
  ],
  SVC_WORKFLOW_YAML: [409, "The workflow '{id}' is written by hand in {file}, which is not overwritten; change that file."],
  SVC_WORKFLOW_CHANGED: [412, "The workflow '{id}' was changed meanwhile; read it again and save what you have changed."],
  SVC_WORKFLOW_SCHEMA: [400, "The workflow '{id}' is refused: {reason}."],
  SVC_WORKFLOW_LINT: [422, "The workflow '{id}' cannot be run: {reason}."],
  SVC_WORKFLOW_LAYOUT: [413, "A layout has at most 262,144 bytes of JSON."],
  SVC_WORKFLOW_BIG: [413, "A definition has at most 1,048,576 bytes."],
  SVC_DRAFT_UNKNOWN: [404, "There is no draft '{id}'."],
  SVC_DRAFT_THERE: [409, "There is a draft '{id}' already; give another id, or reject that one."],
  SVC_DRAFT_TASK_RUNS: [409, "The task '{task}' is still being worked on; make a draft of it when it has ended."],
  SVC_DRAFT_TASK: [422, "No workflow can be made of the task '{task}': {reason}."],
  SVC_DRAFT_CHANGED: [412, "The draft '{id}' was changed meanwhile; read it again and save what you have changed."],
  SVC_DRAFT_TAKEN: [409, "There is a workflow '{id}' already, in {file}; promote the draft under another id."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code; facts other than those in its message go into the answer. */
export const definitionError = errorTable(DEFINITION_ERRORS);
