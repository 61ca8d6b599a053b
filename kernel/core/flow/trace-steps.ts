import type { Step, TraceStep } from "@svc/sdk";

/** Characters of a text that a trace keeps. */
const SUMMARY = 500;
/** A text as a trace keeps it. */
export const brief = (text: string) => (text.length <= SUMMARY ? text : `${text.slice(0, SUMMARY)}…`);

const stepIds = new WeakMap<TraceStep, string>();

/** The step that a tier has begun and not ended under this id. */
export function openStep(steps: readonly TraceStep[], id: string): TraceStep | undefined {
  return steps.findLast((known) => stepIds.get(known) === id);
}

/** Adds an event of a step to the trace: a new step of that kind, or the end of the one with the same id. */
export function noteStep(step: Step, steps: TraceStep[], kind: "tool" | "prepare"): void {
  const facts = {
    ...(step.output === undefined ? {} : { output: brief(step.output) }),
    ...(step.error === undefined ? {} : { error: brief(step.error) }),
  };
  const input = step.input === undefined ? {} : { input: brief(step.input) };
  if (step.phase === "end") {
    const at = steps.findLastIndex((known) => stepIds.get(known) === step.id);
    const begun = steps[at];
    if (begun !== undefined) {
      steps[at] = { ...begun, ...facts, durationMs: step.durationMs ?? Date.now() - begun.at };
      return;
    }
  }
  const made: TraceStep = {
    name: step.name,
    kind,
    at: Date.now(),
    ...input,
    ...facts,
    ...(step.durationMs === undefined ? {} : { durationMs: step.durationMs }),
  };
  stepIds.set(made, step.id);
  steps.push(made);
}
