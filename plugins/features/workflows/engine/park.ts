import type { Commit } from "./commit.ts";
import type { Wait } from "./entries.ts";
import type { Input, Refusal } from "./inputs.ts";
import type { StepState } from "./run-state.ts";
import { takeStored } from "./signals.ts";

/** A claimed step has something to wait for. */
export function park(commit: Commit, step: StepState, { wait, matches, at }: Input<"park">): Refusal | undefined {
  const { id, status, timeoutAt } = step;
  if (status !== "running" || wait.kind === "items" || wait.kind === "retry" || wait.kind === "incident") return "not-waiting";
  if (wait.kind === "signal" && takeStored(commit, step, wait.for, matches)) return undefined;
  if (wait.kind === "task") commit.write("task.created", { step: id, taskId: wait.for });
  if (wait.kind === "child") commit.write("child.started", { step: id, runId: wait.for });
  const until = wait.until ?? timeoutAt;
  const full: Wait = { ...wait, since: at, ...(until === undefined ? {} : { until }) };
  commit.write("step.waiting", { step: id, wait: full });
  // The run was paused while its child began.
  if (wait.kind === "child" && commit.state.status === "paused") commit.order({ do: "pauseChild", step: id, runId: wait.for });
  return undefined;
}
