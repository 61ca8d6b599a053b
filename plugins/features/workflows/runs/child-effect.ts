import { codeOf, reasonOf, type WorkflowStart } from "@svc/sdk";
import { workOf } from "../engine/claim.ts";
import type { RunState, StepState } from "../engine/types.ts";
import type { EffectRunner } from "./effects.ts";
import { isOver, type RunRow } from "./run-rows.ts";
import type { ParentStep } from "./starts.ts";

/** Operations of a step on its sub-process. */
export interface Children {
  /** Starts it, or finds the one that this key has started; answers its id. */
  begin(id: string, start: WorkflowStart, parent: ParentStep): Promise<string>;
  cancel(childId: string, parentId: string): Promise<void>;
}

/** The start key of the sub-process that an attempt starts. */
export function startKeyFor(state: RunState, step: StepState): string | undefined {
  const command = workOf(state, step, "subProcess");
  return command.do === "startChild" ? command.startKey : undefined;
}

/** What a live sub-process must do for its parent to have its way: nothing, where it does that already. */
export function asItsParent({ state, status, pausedBy }: RunRow, parent: RunRow | undefined, by: string): "cancel" | "pause" | "resume" | undefined {
  const step = parent?.state.steps[state.parentStep ?? ""];
  if (parent === undefined || step === undefined || isOver(parent.status)) return "cancel";
  const begins = step.status === "running" && startKeyFor(parent.state, step) === state.startKey;
  if (!begins && step.wait?.for !== state.id) return "cancel";
  if (parent.status === "paused") return status === "running" ? "pause" : undefined;
  // A run paused by another party stays paused.
  return status === "paused" && pausedBy === by ? "resume" : undefined;
}

/**
 * Steps of the kind `subProcess`: a run under the key of the step, so that a second start finds the first one's. Its end comes by a row of
 * its own, also where it has ended before the step is known to wait.
 */
export const childEffect =
  ({ begin, cancel }: Children): EffectRunner =>
  async ({ runId, row, step, node, given }) => {
    const command = workOf(row.state, step, node.kind);
    if (command.do !== "startChild") throw new Error(`${node.id} starts no sub-process`);
    const input = given["input"];
    const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
    if (!isObject && input !== null && input !== undefined)
      return { fault: { code: "EXPR_TYPE", message: 'the input of a sub-process is an object, as in { amount: "{{ in }}" }' }, retryable: false };
    let childId: string;
    try {
      const parent = { runId, step: step.id, rootId: row.root, depth: row.state.depth + 1 };
      childId = await begin(
        String(given["workflow"]),
        { input: (input ?? {}) as Record<string, unknown>, startKey: command.startKey, entry: command.entry },
        parent,
      );
    } catch (error) {
      const code = codeOf(error) ?? "";
      // The definition or its input is wrong; anything else may be over at the next attempt.
      const wrong = code.startsWith("SVC_WORKFLOW_");
      if (!wrong) throw error;
      return { fault: { code: "CHILD_FAILED", message: reasonOf(error), details: { code } }, retryable: false };
    }
    const { timeoutAt } = step;
    return {
      // Without this a child that began while its step was abandoned would go on unnoticed.
      unwanted: () => cancel(childId, runId),
      input: () => ({
        kind: "park",
        at: Date.now(),
        step: step.id,
        wait: { kind: "child", for: childId, ...(timeoutAt === undefined ? {} : { until: timeoutAt }) },
      }),
    };
  };
