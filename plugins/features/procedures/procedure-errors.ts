import { errorTable } from "@svc/sdk";

/** Errors of the procedures. */
export const procedureError = errorTable({
  SVC_PROCEDURE_UNKNOWN: [404, "There is no procedure '{id}'; see svc skill list."],
  SVC_PROCEDURE_DRAFT: [404, "There is no draft '{id}'; see svc skill list --drafts."],
  SVC_PROCEDURE_NAME: [
    400,
    "'{id}' cannot be the name of a procedure: use up to 64 lower-case letters, digits, '-', '_' and '.', beginning with a letter or digit.",
  ],
  SVC_PROCEDURE_TAKEN: [409, "There is a procedure '{id}' already ({file}); promote it under another name: svc skill promote {draft} --as <name>"],
  SVC_PROCEDURE_BROKEN: [422, "The draft '{id}' cannot be used: {reason}. Mend {file}, then promote it again."],
});
