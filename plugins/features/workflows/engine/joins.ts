import { cancelStep } from "./cancel.ts";
import type { Commit } from "./commit.ts";
import type { TokenLineage } from "./entries.ts";
import type { JoinPlace, Place } from "./graph.ts";
import { own } from "./own.ts";
import type { Arrival, GroupState, StepState } from "./run-state.ts";
import { stepId } from "./step-ids.ts";
import { lineage, marks, nextVisit, send } from "./tokens.ts";

/** Blockers that keep a group from firing. */
interface Blockers {
  readonly steps: readonly StepState[];
  readonly groups: readonly GroupState[];
}

/** A join that was short without an error port; `step` is its visit. */
export interface Short {
  readonly step: string;
  readonly group: GroupState;
}

/**
 * Fires one join of the scope that can fire, or declares one short. Gives whether anything happened; a join that was short and has no
 * edge on its error port is handed to `fail`.
 */
export function settleOnce(commit: Commit, scope: string, fail: (short: Short) => void): boolean {
  const groups = Object.values(commit.state.groups).filter((group) => group.scope === scope);
  if (groups.length === 0) return false;
  const steps = commit.stepsIn(scope);
  const blocked = new Map<string, Blockers>();
  for (const group of groups) {
    const { wait } = joinOf(commit, group);
    const blockers = blockersOf(commit, group, steps, groups);
    blocked.set(group.id, blockers);
    const free = blockers.steps.length === 0 && blockers.groups.length === 0;
    if (wait === "all" ? free : group.arrivals.length >= wait) {
      fire(commit, group, blockers);
      return true;
    }
    if (free) {
      short(commit, group, fail);
      return true;
    }
  }
  const circle = circleOf(commit, groups, blocked);
  if (circle === undefined) return false;
  const first = circle.find((group) => joinOf(commit, group).wait === "all");
  if (first === undefined) short(commit, circle[0] as GroupState, fail);
  else fire(commit, first, blocked.get(first.id) as Blockers);
  return true;
}

/** Where tokens of the same generation of its split still are that may come to the join. */
function blockersOf(commit: Commit, group: GroupState, steps: readonly StepState[], groups: readonly GroupState[]): Blockers {
  const { node } = group;
  const { region, split } = joinOf(commit, group);
  const generation = generationOf(group.arrivals, split);
  const same = (lin: TokenLineage) => split === null || own(lin, split) === generation;
  return {
    steps: steps.filter((step) => region.has(step.node) && same(step.lin) && !step.late?.includes(node)),
    groups: groups.filter(
      (other) => other !== group && region.has(other.node) && same(mergedLineage(other.arrivals)) && !other.arrivals.every(({ late }) => late?.includes(node)),
    ),
  };
}

/**
 * Returns groups that only wait for each other (a deadlock), nearest to the start first. Without this none of them could ever fire: everything that
 * could still reach them waits in one of them.
 */
function circleOf(commit: Commit, groups: readonly GroupState[], blocked: ReadonlyMap<string, Blockers>): readonly GroupState[] | undefined {
  const waitsFor = (group: GroupState) => (blocked.get(group.id) as Blockers).groups;
  const reached = (group: GroupState) => {
    const found = new Set<GroupState>();
    const open = [...waitsFor(group)];
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      if (found.has(one)) continue;
      found.add(one);
      open.push(...waitsFor(one));
    }
    return found;
  };
  const held = (group: GroupState) => (blocked.get(group.id) as Blockers).steps.length > 0;
  const reach = new Map(groups.map((group) => [group, reached(group)]));
  const free = groups.filter((group) => !held(group) && ![...(reach.get(group) as Set<GroupState>)].some(held));
  const closed = free.find((group) => [...(reach.get(group) as Set<GroupState>)].every((other) => reach.get(other)?.has(group)));
  if (closed === undefined) return undefined;
  const rank = (group: GroupState) => commit.place(group.node).rank;
  return [...(reach.get(closed) as Set<GroupState>)].sort((one, other) => rank(one) - rank(other));
}

function fire(commit: Commit, group: GroupState, blockers: Blockers): void {
  const { node, scope, arrivals } = group;
  const place = commit.place(node);
  const join = joinOf(commit, group);
  const { visit, iteration } = nextVisit(commit, scope, place, arrivals.at(-1)?.from ?? null);
  const step = stepId(node, iteration);
  // The remaining blockers of a join that waits for all are part of its cycle, not stragglers: the join fires for them once more.
  const rest = join.wait === "all" ? { steps: [], groups: [] } : blockers;
  if (join.cancelRest) {
    for (const one of rest.steps) cancelStep(commit, one.id, step);
    for (const { id, node: other } of rest.groups) commit.write("join.dropped", { node: other, group: id });
  }
  const late = join.cancelRest ? [] : [...rest.steps, ...rest.groups].map(({ id }) => id);
  const output = [...arrivals].sort((one, other) => one.edge - other.edge).map(({ value }) => value);
  commit.write("join.fired", { node, group: group.id, scope, step, iteration, visit, late, output });
  leave(commit, group, place, step, visit, ["out"]);
}

function short(commit: Commit, group: GroupState, fail: (short: Short) => void): void {
  const { node, scope, arrivals } = group;
  const place = commit.place(node);
  const { visit, iteration } = nextVisit(commit, scope, place, arrivals.at(-1)?.from ?? null);
  const step = stepId(node, iteration);
  const message = `${arrivals.length} of ${joinOf(commit, group).wait} tokens came to the join '${node}', and no more can come`;
  const port = place.ports.has("error") ? "error" : null;
  commit.write("join.short", { node, group: group.id, scope, step, iteration, visit, error: { code: "JOIN_SHORT", message, node, iteration }, port });
  commit.touched.add(scope);
  if (port === null) fail({ step, group });
  else leave(commit, group, place, step, visit, [port]);
}

/** The tokens of a group go on as one. */
function leave(commit: Commit, { arrivals, scope }: GroupState, place: Place, step: string, visit: number, ports: readonly string[]): void {
  const common = arrivals[0]?.late?.filter((join) => arrivals.every(({ late }) => late?.includes(join)));
  const lin = lineage(commit, { lin: mergedLineage(arrivals), scope }, place, visit);
  commit.touched.add(scope);
  send(commit, { from: step, scope, lin, ...marks(common, place) }, place, ports);
}

/** The tokens of a group agree on what lies above their split; below it the highest visit counts. */
function mergedLineage(arrivals: readonly Arrival[]): TokenLineage {
  const merged: Record<string, number> = {};
  for (const { lin } of arrivals) {
    for (const [split, visit] of Object.entries(lin)) merged[split] = Math.max(own(merged, split) ?? 0, visit);
  }
  return merged;
}

const generationOf = (arrivals: readonly Arrival[], split: string | null) => (split === null ? 0 : own(arrivals[0]?.lin ?? {}, split));

const joinOf = (commit: Commit, { node }: GroupState): JoinPlace => commit.place(node).join as JoinPlace;
