import { errorTable } from "@svc/sdk";

/** Errors of the approvals: code to [HTTP status, message]. `{name}` is filled from the facts. */
export const ERRORS = {
  SVC_APPROVAL_QUESTION: [400, "This cannot be asked: {reason}."],
  SVC_APPROVAL_UNKNOWN: [404, "There is no question '{id}'; see svc approval list."],
  SVC_APPROVAL_CHOICE: [400, "'{choice}' is no answer to question {id}; its answers are {choices}."],
  SVC_APPROVAL_DECIDED: [409, "Question {id} is decided already: {how}."],
  SVC_APPROVAL_OVER: [410, "Question {id} is over: {how}."],
  SVC_APPROVAL_RUN: [409, "Question {id} cannot be put off: a run waits for the answer."],
  SVC_APPROVAL_FORBIDDEN: [403, "{who} may not answer questions here; an operator adds {who} to approvals.allowFrom."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

/** Makes the error of a code, its message filled from the facts. */
export const fail = errorTable(ERRORS);
