import { errorTable } from "@svc/sdk";

/** Errors of the graph. */
export const graphError = errorTable({
  SVC_GRAPH_UNKNOWN: [404, "There is no node '{id}'; see svc graph list."],
  SVC_GRAPH_DRAFT: [404, "There is no draft '{id}'; see svc graph list --drafts."],
  SVC_GRAPH_CHANGE: [422, "The draft '{id}' cannot be applied: {reason}. Mend {file}, or reject it."],
  SVC_GRAPH_AGENT: [409, "No agent drafts changes; name one: svc config set graph.draftAgent <agent>"],
  SVC_GRAPH_FAILED: [424, "Agent {agent} gave no usable answer: {reason}."],
  SVC_GRAPH_TASK: [404, "There is no task '{id}' with a message; see svc trace list."],
});
