import type { Budget } from "./budget.ts";

/** The one evaluation that runs: they take turns, so that the time of one is not spent by another. */
export interface Evaluation {
  readonly budget: Budget;
  /** The moment it is for: what `$now()` says. */
  readonly at: number;
}

let current: Evaluation | undefined;

/** The evaluation that is under way. */
export function underWay(): Evaluation {
  if (current === undefined) throw new Error("no expression is being evaluated");
  return current;
}

/** Runs `work` as the evaluation that is under way. */
export async function during<T>(evaluation: Evaluation, work: () => Promise<T>): Promise<T> {
  current = evaluation;
  try {
    return await work();
  } finally {
    current = undefined;
  }
}
