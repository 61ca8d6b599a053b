import type { Commit } from "./commit.ts";
import type { Input, Refusal } from "./inputs.ts";
import type { StepState } from "./run-state.ts";
import { endStep } from "./steps.ts";

/** Limit of stored signals of one name; the oldest is dropped first. */
const STORED = 100;

/** A signal comes: the oldest wait takes it; otherwise it is stored or dropped. */
export function receive(commit: Commit, { name, payload = null, key, stored, matches }: Input<"signal">): Refusal | undefined {
  if (key !== undefined && commit.state.signalKeys.includes(key)) return "duplicate";
  commit.write("signal.received", { name, payload, ...(key === undefined ? {} : { key }) });
  const waiting = Object.values(commit.state.steps).filter(({ id, wait }) => wait?.kind === "signal" && wait.for === name && matches?.includes(id) !== false);
  const oldest = waiting.sort((one, other) => (one.waitSeq ?? 0) - (other.waitSeq ?? 0))[0];
  if (oldest !== undefined) {
    commit.write("signal.delivered", { name, step: oldest.id });
    endStep(commit, oldest, ["out"], payload);
  } else if (stored === false) commit.write("signal.dropped", { name });
  else store(commit, name);
  return undefined;
}

/** A step begins to wait for a signal; gives whether a stored one was there for it. */
export function takeStored(commit: Commit, step: StepState, name: string, matches: readonly number[] | undefined): boolean {
  const found = commit.state.signals.find((one) => one.name === name && matches?.includes(one.id) !== false);
  if (found === undefined) return false;
  commit.write("signal.taken", { name, id: found.id, step: step.id });
  endStep(commit, step, ["out"], found.payload);
  return true;
}

function store(commit: Commit, name: string): void {
  commit.write("signal.stored", { name, id: commit.state.seq });
  const same = commit.state.signals.filter((one) => one.name === name);
  if (same.length > STORED) commit.write("signal.dropped", { name, id: same[0]?.id ?? 0 });
}
