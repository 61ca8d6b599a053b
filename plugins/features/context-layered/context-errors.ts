import { errorTable } from "@svc/sdk";

/** Errors of references and of what agents remember. */
export const contextError = errorTable({
  SVC_REFERENCE_REGISTRY: [422, "references/registry.json of the workspace cannot be used: {reason}. Mend it; nothing was changed."],
  SVC_REFERENCE_UNKNOWN: [404, "There is no reference '{name}'; see svc references list {agent}."],
  SVC_REFERENCE_TAKEN: [409, "There is a reference '{name}' already; remove it first: svc references remove {agent} {name}"],
  SVC_REFERENCE_UNREACHED: [422, "{at} cannot be referred to: {reason}."],
  SVC_CONTEXT_AGENT: [404, "There is no agent '{agent}'; see svc agent list."],
  SVC_MEMORY_FILE: [400, "'{file}' is no file of an agent's memory: that is MEMORY.md, and files .md and .txt below memory/."],
  SVC_MEMORY_UNKNOWN: [404, "The agent '{agent}' has no file {file} in its memory; see svc agent memory list {agent}."],
  SVC_MEMORY_CHANGED: [409, "{file} was changed meanwhile; look at it again: svc agent memory show {agent} {file}"],
});
