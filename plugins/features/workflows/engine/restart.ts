import { fold } from "./apply.ts";
import type { Definition, Node } from "./definition.ts";
import type { Entry } from "./entries.ts";
import type { RunState, StepState } from "./run-state.ts";

/** Entries that only clear away what was live when a run ended. */
const CLEARING: ReadonlySet<string> = new Set(["step.canceled", "task.canceled", "join.dropped", "scope.dropped"]);

/**
 * The state with which a new run goes on from a step of an ended one, for the `prior` of its `start`; undefined where the journal has no
 * such step. Without a step: what failed the run; for a run that was canceled or timed out all that was live then; undefined for a
 * completed one, in which nothing is left to do.
 */
export function restartFrom(journal: readonly Entry[], step?: string): RunState | undefined {
  const state = fold(journal.slice(0, lengthOf(journal, step)));
  if (state === undefined) return undefined;
  return { ...state, steps: Object.fromEntries(Object.entries(state.steps).map(([id, live]) => [id, fresh(live)])) };
}

/** The nodes with a result or a token that a definition has no more, or has with another kind: a restart with it is refused then. */
export function missingNodes(before: Definition, after: Definition, state: RunState): readonly string[] {
  const results = Object.values(state.scopes).flatMap((scope) => Object.keys(scope.results));
  const live = [...Object.values(state.steps), ...Object.values(state.groups)].map(({ node }) => node);
  const [old, now] = [kindsOf(before.nodes), kindsOf(after.nodes)];
  return [...new Set([...results, ...live])].filter((node) => now.get(node) !== old.get(node) || !now.has(node));
}

/** Returns the length of the journal to keep. */
function lengthOf(journal: readonly Entry[], step: string | undefined): number {
  const through = (wanted: string) => journal.findLastIndex((entry) => entry.kind === "step.ready" && entry.step === wanted) + 1;
  if (step !== undefined) return through(step) || (beganWith(journal, step) ? 1 : 0);
  const last = journal.at(-1);
  if (last?.kind === "run.failed" && last.step !== undefined) {
    // The tokens that had arrived by then show what the join lacked.
    const short = journal.findLastIndex((entry) => entry.kind === "join.short" && entry.step === last.step);
    const kept = short >= 0 ? short : through(last.step);
    if (kept > 0) return kept;
  }
  if (last?.kind === "run.completed") return 0;
  let kept = journal.length - 1;
  while (kept > 0 && CLEARING.has(journal[kept - 1]?.kind ?? "")) kept--;
  return kept;
}

/** Whether a restarted run went on from this step: then its journal tells of no moment at which it became ready. */
function beganWith([first]: readonly Entry[], step: string): boolean {
  return first?.kind === "run.started" && first.prior !== undefined && Object.hasOwn(first.prior.steps, step);
}

/** Ready again, with its attempts before it. A `forEach` whose items run goes on with them. */
function fresh({ id, node, iteration, visit, scope, status, from, lin, late, in: value, attempt, wait, waitSeq, items, itemVisits }: StepState): StepState {
  const same = { id, node, iteration, visit, scope, from, lin, ...(late === undefined ? {} : { late }), in: value };
  if (items !== undefined && wait?.kind === "items")
    return { ...same, status, attempt, wait, ...(waitSeq === undefined ? {} : { waitSeq }), items, ...(itemVisits === undefined ? {} : { itemVisits }) };
  return { ...same, status: "ready", attempt: 0 };
}

const kindsOf = (nodes: readonly Node[]): ReadonlyMap<string, string> =>
  new Map(nodes.flatMap((node) => [[node.id, node.kind] as const, ...(node.kind === "forEach" ? kindsOf(node.do.nodes) : [])]));
