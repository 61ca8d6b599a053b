import type { Commit } from "./commit.ts";
import type { NodeKind } from "./definition.ts";
import { durationMs } from "./duration.ts";
import type { Command, Input, Refusal } from "./inputs.ts";
import type { RunState, StepState } from "./run-state.ts";
import { faultStep, waitsOnce } from "./steps.ts";
import { taskIdOf } from "./task-id.ts";

/** Maximum nesting of sub-processes. */
const DEPTH = 10;

/** The host takes a step: the attempt counts from now on, whatever becomes of it. */
export function claim(commit: Commit, step: StepState, { kind, at, boot, input }: Input<"claim" | "retryDue">): Refusal | undefined {
  const { id, status, wait } = step;
  const early = kind === "claim" && (wait?.until ?? 0) > at;
  if (status !== "ready" && (wait?.kind !== "retry" || early)) return "not-waiting";
  const { node } = commit.place(step.node);
  const limit = "timeout" in node && node.timeout !== undefined ? durationMs(node.timeout) : undefined;
  const timeoutAt = limit === undefined ? undefined : waitsOnce(node) ? (step.timeoutAt ?? at + limit) : at + limit;
  commit.write("step.claimed", {
    step: id,
    attempt: step.attempt + 1,
    ...(boot === undefined ? {} : { boot }),
    ...(timeoutAt === undefined ? {} : { timeoutAt }),
    ...(input === undefined ? {} : { input }),
  });
  const claimed = commit.step(id) as StepState;
  if (node.kind === "subProcess" && commit.state.depth >= DEPTH)
    faultStep(commit, claimed, { error: { code: "DEPTH", message: `sub-processes may be ${DEPTH} deep; '${node.id}' would be one more` }, retryable: false });
  else commit.order(workOf(commit.state, claimed, node.kind));
  return undefined;
}

/** Returns the host's command for a claimed step. */
export function workOf(state: RunState, step: StepState, kind: NodeKind): Command {
  const { id, attempt, children = 0 } = step;
  const key = `${state.id}/${id}`;
  switch (kind) {
    case "agent":
    case "action":
      return { do: "effect", step: id, attempt };
    case "userTask":
    case "approval":
      return { do: "openTask", step: id, taskId: taskIdOf(state.id, id) };
    case "timer":
    case "waitSignal":
      return { do: "park", step: id };
    case "forEach":
      return { do: "items", step: id };
    case "subProcess":
      // Until the run knows of a child the key stays the same, and finds the one that a stop came after; a further attempt starts another.
      return { do: "startChild", step: id, startKey: `sub:${key}${children === 0 ? "" : `#${children + 1}`}`, entry: { kind: "sub", ref: key } };
    default:
      return { do: "evaluate", step: id };
  }
}
