import { workOf } from "./claim.ts";
import type { Definition } from "./definition.ts";
import { graphOf, placeOf } from "./graph.ts";
import type { Command } from "./inputs.ts";
import type { RunState } from "./run-state.ts";

/**
 * Returns the commands for a run that a host finds: steps to claim, and claimed steps without a result, which the host looks up first; waiting steps
 * are excluded. Claims nothing while the run is paused.
 */
export function pendingCommands(definition: Definition, state: RunState): readonly Command[] {
  const { status, steps } = state;
  if (status !== "running" && status !== "paused") return [{ do: "ended", status }];
  const graph = graphOf(definition);
  return Object.values(steps).flatMap((step): Command[] => {
    if (step.status === "ready") return status === "running" ? [{ do: "claim", step: step.id }] : [];
    if (step.status === "running" || step.wait?.kind === "effect") return [workOf(state, step, placeOf(graph, step.node).node.kind)];
    return [];
  });
}
