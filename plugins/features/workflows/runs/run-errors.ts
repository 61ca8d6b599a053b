import { errorTable } from "@svc/sdk";

/** Errors of runs: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_WORKFLOW_UNKNOWN: [404, "There is no workflow '{id}'; see svc workflow list."],
  SVC_WORKFLOW_BROKEN: [422, "The workflow '{id}' cannot be started: {reason}. See svc workflow show {id}."],
  SVC_WORKFLOW_INPUT: [400, "The input of workflow '{id}' is refused: {field} {reason}."],
  SVC_WORKFLOW_SIZE: [413, "The input of workflow '{id}' is larger than 1,000,000 characters of JSON; pass a reference to it instead."],
  SVC_WORKFLOW_KEY: [400, "{what} must be 1 to 512 characters long."],
  SVC_WORKFLOW_KEY_REUSED: [422, "The Idempotency-Key was used before with another input of workflow '{id}', for the run {runId}: nothing was started."],
  SVC_WORKFLOW_IN_FLIGHT: [409, "The run {runId} of workflow '{id}' for {ref} is under way; wait for its end, or start with force."],
  SVC_WORKFLOW_RUN_UNKNOWN: [404, "There is no run '{id}' (any more): ended runs are kept for 90 days. See svc workflow list."],
  SVC_WORKFLOW_RUN_STATE: [409, "The run {id} is {runStatus}: it cannot be {asked}."],
  SVC_WORKFLOW_STEP: [422, "The run {id} cannot be started again at {step}: {reason}."],
  SVC_WORKFLOW_STEP_UNKNOWN: [404, "The run {id} has no step '{step}'; its steps are listed with the run."],
  SVC_WORKFLOW_CURSOR: [400, "The cursor '{cursor}' is none of this list; start again without one."],
  SVC_WORKFLOW_CONTENDED: [503, "The run {id} is being changed by others all the time; try again."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
