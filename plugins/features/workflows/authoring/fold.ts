import { decide } from "../engine/decide.ts";
import { graphOf, placeOf } from "../engine/graph.ts";
import type { Definition, Entry, EntryKind, Input, RunState } from "../engine/types.ts";

/** Comparison of a run with another definition. */
export interface Fold {
  readonly runId: string;
  /** The same steps, ports and end. */
  readonly same: boolean;
  readonly firstDifference?: Difference;
}

/** Where the ways part. */
export interface Difference {
  /** Of the entry in the run's journal. */
  readonly seq: number;
  /** Recorded event; unset if the run had ended. */
  readonly was?: Happening;
  /** Event under the other definition; unset if there would be none. */
  readonly now?: Happening;
}

/** An entry, as far as it matters for the way of a run. */
export interface Happening {
  readonly kind: EntryKind;
  readonly step?: string;
  readonly ports?: readonly string[];
  readonly name?: string;
}

/**
 * Feeds what has happened in a run to another definition: the results of its steps, the answers of people, signals and times as the journal has
 * them. Nothing is evaluated and no effect is run, so another template alone makes no difference; other nodes, edges, joins and limits do.
 * The values of the journal must be whole.
 */
export function foldJournal(runId: string, definition: Definition, journal: readonly Entry[]): Fold {
  let state: RunState | undefined;
  let expected: readonly Entry[] = [];
  for (const [at, entry] of journal.entries()) {
    if (expected.length === 0) {
      const cause = causeOf(definition, state, journal, at);
      try {
        const decision = cause === undefined ? undefined : decide(definition, state, cause);
        if (decision !== undefined) [state, expected] = [decision.state, decision.entries];
      } catch {
        // The definition has no such node: nothing would happen.
        expected = [];
      }
    }
    const [now, ...rest] = expected;
    if (now === undefined || !isSame(entry, now)) return different(runId, entry.seq, entry, now);
    expected = rest;
  }
  const [now] = expected;
  const seq = journal.at(-1)?.seq ?? 0;
  if (now !== undefined) return different(runId, seq, undefined, now);
  return { runId, same: true };
}

const different = (runId: string, seq: number, was: Entry | undefined, now: Entry | undefined): Fold => ({
  runId,
  same: false,
  firstDifference: { seq, ...(was === undefined ? {} : { was: happening(was) }), ...(now === undefined ? {} : { now: happening(now) }) },
});

/** The facts of an entry that say which way a run takes. Which tokens a join counts as its own follows from them. */
function happening(entry: Entry): Happening {
  const { kind, step, ports, port, name, node } = entry as Entry & Record<string, unknown>;
  const where = step ?? node;
  const ways = Array.isArray(ports) ? (ports as string[]) : typeof port === "string" ? [port] : undefined;
  return {
    kind,
    ...(typeof where === "string" ? { step: where } : {}),
    ...(ways === undefined ? {} : { ports: ways }),
    ...(typeof name === "string" ? { name } : {}),
  };
}

const isSame = (one: Entry, other: Entry): boolean => JSON.stringify(happening(one)) === JSON.stringify(happening(other));

/** The input of which an entry is the first consequence; undefined where it has none of its own. */
function causeOf(definition: Definition, state: RunState | undefined, journal: readonly Entry[], index: number): Input | undefined {
  const entry = journal[index] as Entry;
  const { at } = entry;
  const next = journal[index + 1];
  switch (entry.kind) {
    case "run.started":
      return { kind: "start", at, run: entry.run, ...(entry.prior === undefined ? {} : { prior: entry.prior }) };
    case "step.claimed": {
      const { step, boot, input } = entry;
      const facts = { at, step, ...(boot === undefined ? {} : { boot }), ...(input === undefined ? {} : { input }) };
      return state?.steps[step]?.wait?.kind === "retry" ? { kind: "retryDue", ...facts } : { kind: "claim", ...facts };
    }
    case "step.waiting":
      if (entry.wait.kind === "incident")
        return { kind: "fault", at, step: entry.step, error: entry.wait.error ?? { code: "INTERRUPTED", message: "the step was interrupted" } };
      return parked(entry, at);
    case "task.created":
    case "child.started": {
      const waiting = journal.slice(index, index + 3).find((one): one is Entry<"step.waiting"> => one.kind === "step.waiting" && one.step === entry.step);
      return waiting === undefined ? undefined : parked(waiting, at);
    }
    case "signal.taken":
      return { kind: "park", at, step: entry.step, wait: { kind: "signal", for: entry.name }, matches: [entry.id] };
    case "items.opened":
      return { kind: "items", at, step: entry.step, items: entry.items, ...(entry.need === undefined ? {} : { need: entry.need }) };
    case "step.ended":
      return ended(definition, state, entry);
    case "step.retry":
      return { kind: "fault", at, step: entry.step, error: entry.error, retryable: true };
    case "step.failed":
      return failed(definition, state, entry);
    case "task.submitted":
      return { kind: "submit", at, step: entry.step, port: entry.port, values: entry.values, ...by(entry) };
    case "task.commented":
      return { kind: "comment", at, step: entry.step, text: entry.text, ...by(entry) };
    case "task.overdue":
      return { kind: "due", at, step: entry.step };
    case "child.ended": {
      const { step, runId, status } = entry;
      const end = journal.slice(index + 1).find((one) => (one.kind === "step.ended" || one.kind === "step.failed") && one.step === step);
      return { kind: "childEnded", at, step, runId, status, ...(end?.kind === "step.ended" ? { output: end.output } : {}) };
    }
    case "signal.received": {
      const matches = next?.kind === "signal.delivered" ? [next.step] : [];
      const { name, payload, key } = entry;
      return { kind: "signal", at, name, payload, matches, stored: next?.kind !== "signal.dropped", ...(key === undefined ? {} : { key }) };
    }
    case "run.paused":
      return { kind: "pause", at, ...by(entry) };
    case "run.resumed":
      return { kind: "resume", at, ...by(entry) };
    case "run.canceled":
      return { kind: "cancel", at, ...by(entry) };
    default:
      return undefined;
  }
}

const by = ({ by: who }: { readonly by?: string }): { readonly by?: string } => (who === undefined ? {} : { by: who });

const parked = ({ step, wait: { since: _since, ...wait } }: Entry<"step.waiting">, at: number): Input => ({ kind: "park", at, step, wait });

/** A step that did its work by itself: what it waited for, if anything, was a time. */
function ended(definition: Definition, state: RunState | undefined, { at, step, ports, output }: Entry<"step.ended">): Input {
  const live = state?.steps[step];
  if (live?.wait?.kind === "timer") return { kind: "due", at, step };
  const kind = live === undefined ? undefined : placeOf(graphOf(definition), live.node).node.kind;
  if (kind === "branch" || kind === "multiChoice") return { kind: "result", at, step, ports: ports.filter((port) => port !== "else") };
  return { kind: "result", at, step, output };
}

function failed(definition: Definition, state: RunState | undefined, { at, step, error }: Entry<"step.failed">): Input {
  const live = state?.steps[step];
  if (error.code === "TIMEOUT" && live?.timeoutAt !== undefined) return { kind: "timeout", at, step };
  const kind = live === undefined ? undefined : placeOf(graphOf(definition), live.node).node.kind;
  if (kind === "branch" || kind === "multiChoice") return { kind: "result", at, step, ports: [] };
  const { message, details } = error;
  if (kind === "fail") return { kind: "result", at, step, output: { message, ...(details === undefined ? {} : { details }) } };
  return { kind: "fault", at, step, error, retryable: false };
}
