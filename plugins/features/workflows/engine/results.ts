import { cancelStep, dropGroups, emptyScope } from "./cancel.ts";
import type { Commit } from "./commit.ts";
import type { Input, Refusal } from "./inputs.ts";
import type { StepState } from "./run-state.ts";
import { endStep, failStep, faultStep } from "./steps.ts";

/** A step has done its work: what it gives depends on its kind. */
export function takeResult(commit: Commit, step: StepState, input: Input<"result">): Refusal | undefined {
  if (step.status !== "running" && step.wait?.kind !== "effect") return "not-waiting";
  const { node } = commit.place(step.node);
  const { output = null } = input;
  switch (node.kind) {
    case "branch":
    case "multiChoice":
      return choose(commit, step, input.ports ?? (input.port === undefined ? [] : [input.port]), ["else", ...node.cases.map(({ port }) => port)]);
    case "cancelNodes":
      endStep(commit, step, ["out"], step.in, () => cancelNodes(commit, step, node.nodes));
      return undefined;
    case "end":
      endStep(commit, step, [], output, () => {
        commit.write("scope.output", { step: step.id, scope: step.scope });
        if (node.terminate) emptyScope(commit, step.scope, step.id);
      });
      return undefined;
    case "fail": {
      const { message = `the run was failed by the node '${node.id}'`, details } = (output ?? {}) as { message?: string; details?: unknown };
      failStep(commit, step, { error: { code: node.code ?? "FAILED", message, ...(details === undefined ? {} : { details }) } });
      return undefined;
    }
    default:
      endStep(commit, step, ["out"], output);
      return undefined;
  }
}

/** The ports of a choice, in the order of its cases. */
function choose(commit: Commit, step: StepState, chosen: readonly string[], known: readonly string[]): Refusal | undefined {
  if (chosen.some((port) => !known.includes(port))) return "unknown-port";
  const ports = chosen.length === 0 ? ["else"] : known.filter((port) => chosen.includes(port));
  if (ports.includes("else") && !commit.place(step.node).ports.has("else"))
    faultStep(commit, step, { error: { code: "NO_BRANCH", message: `no case of '${step.node}' is true, and its port 'else' has no edge` } });
  else endStep(commit, step, ports, step.in);
  return undefined;
}

function cancelNodes(commit: Commit, { id, scope }: StepState, nodes: readonly string[]): void {
  for (const step of commit.stepsIn(scope)) if (nodes.includes(step.node)) cancelStep(commit, step.id, id);
  dropGroups(commit, scope, nodes);
}
