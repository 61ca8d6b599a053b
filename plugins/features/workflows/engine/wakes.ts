import type { Input } from "./inputs.ts";
import type { RunState } from "./run-state.ts";

interface Wake {
  readonly due: number;
  readonly input: (at: number) => Input;
}

/** When a run has to be looked at again, in milliseconds since the epoch: the nearest of all its times. A paused or ended run has none. */
export function nextWake(state: RunState): number | undefined {
  let next: number | undefined;
  for (const { due } of wakesOf(state)) if (next === undefined || due < next) next = due;
  return next;
}

/** The inputs that are due at `now`, in due order. One of them may make another void: it is refused then. */
export function dueInputs(state: RunState, now: number): readonly Input[] {
  const due = [...wakesOf(state)].filter((wake) => wake.due <= now);
  return due.sort((one, other) => one.due - other.due).map(({ input }) => input(now));
}

function* wakesOf({ status, timeoutAt, steps }: RunState): Generator<Wake> {
  if (status !== "running") return;
  if (timeoutAt !== undefined) yield { due: timeoutAt, input: (at) => ({ kind: "timeout", at }) };
  for (const { id: step, status: own, wait, timeoutAt: limit, overdue } of Object.values(steps)) {
    if (own === "ready") continue;
    if (wait?.kind === "timer" && wait.until !== undefined) yield { due: wait.until, input: (at) => ({ kind: "due", at, step }) };
    if (wait?.kind === "task" && wait.due !== undefined && !overdue) yield { due: wait.due, input: (at) => ({ kind: "due", at, step }) };
    if (wait?.kind === "retry") yield { due: wait.until ?? wait.since, input: (at) => ({ kind: "retryDue", at, step }) };
    else if (limit !== undefined && wait?.kind !== "incident") yield { due: limit, input: (at) => ({ kind: "timeout", at, step }) };
  }
}
