import type { Commit } from "./commit.ts";
import type { StepState } from "./run-state.ts";
import { taskIdOf } from "./task-id.ts";

/** Cancels a live step with all that it has going on, inside and outside of the run. */
export function cancelStep(commit: Commit, id: string, by: string): void {
  const step = commit.step(id);
  if (step === undefined) return;
  dropItems(commit, step, by);
  commit.touched.add(step.scope);
  commit.write("step.canceled", { step: id, by });
  release(commit, step);
}

/** Drops the items of a `forEach` that still run. */
export function dropItems(commit: Commit, step: StepState, by: string): void {
  for (const scope of step.items?.open ?? []) {
    emptyScope(commit, scope, by);
    commit.write("scope.dropped", { step: step.id, index: commit.scope(scope).index ?? 0, scope });
  }
}

/** Cancels every live step of a scope, and drops what waits at its joins. */
export function emptyScope(commit: Commit, scope: string, by: string): void {
  for (const { id } of commit.stepsIn(scope)) cancelStep(commit, id, by);
  dropGroups(commit, scope);
}

/** Drops what waits at the joins of a scope, or at some of them. */
export function dropGroups(commit: Commit, scope: string, nodes?: readonly string[]): void {
  for (const { id, node, scope: own } of Object.values(commit.state.groups)) {
    if (own === scope && nodes?.includes(node) !== false) commit.write("join.dropped", { node, group: id });
  }
}

/** Tells the host to stop what the step, as it was, has going on outside of the run. */
export function release(commit: Commit, { id, node, status, wait }: StepState): void {
  if (status === "running" || wait?.kind === "effect") commit.order({ do: "cancelEffect", step: id });
  const { kind } = commit.place(node).node;
  // The host may have made the task of a claimed step already, though the run does not know of it.
  if (status === "running" && (kind === "userTask" || kind === "approval")) commit.order({ do: "closeTask", step: id, taskId: taskIdOf(commit.state.id, id) });
  if (wait?.kind === "child") commit.order({ do: "cancelChild", step: id, runId: wait.for });
  if (wait?.kind === "task" || wait?.kind === "incident") {
    commit.write("task.canceled", { step: id, taskId: wait.for });
    commit.order({ do: "closeTask", step: id, taskId: wait.for });
  }
}
