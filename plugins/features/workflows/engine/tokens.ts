import type { Commit } from "./commit.ts";
import type { RunError, TokenLineage } from "./entries.ts";
import type { Place } from "./graph.ts";
import { own } from "./own.ts";
import { groupId, stepId } from "./step-ids.ts";

/** A token on its way along an edge. */
export interface Token {
  /** The visit that it comes from; null for the trigger. */
  readonly from: string | null;
  readonly scope: string;
  readonly lin: TokenLineage;
  readonly late?: readonly string[];
}

/** Thrown where a run passes one of its limits: no port catches it. */
export class LimitPassed extends Error {
  readonly failure: RunError;
  /** Where the token came from that would have been the one too many. */
  readonly step: string | null;

  constructor(failure: RunError, step: string | null) {
    super(failure.message);
    this.failure = failure;
    this.step = step;
  }
}

/** Sends a token along every edge of these ports, in file order. A port without an edge ends it. */
export function send(commit: Commit, token: Token, place: Place, ports: readonly string[]): void {
  for (const port of ports) {
    for (const { to, index } of place.ports.get(port) ?? []) arrive(commit, token, to, index);
  }
}

/** A token comes to a node: a step becomes ready, or a join has one more. `edge` is its place among the edges into the node. */
export function arrive(commit: Commit, token: Token, to: string, edge: number): void {
  const place = commit.place(to);
  commit.touched.add(token.scope);
  if (place.join === undefined) ready(commit, token, place);
  else arriveAtJoin(commit, token, place, place.join.split, edge);
}

function ready(commit: Commit, token: Token, place: Place): void {
  const node = place.node.id;
  const { visit, iteration } = nextVisit(commit, token.scope, place, token.from);
  const step = stepId(node, iteration);
  const { from, scope } = token;
  commit.write("step.ready", { step, node, iteration, visit, scope, from, lin: lineage(commit, token, place, visit), ...marks(token.late, place) });
  commit.order({ do: "claim", step });
}

/** The next visit of a node, within the limits of node and run. */
export function nextVisit(commit: Commit, scope: string, place: Place, from: string | null): { visit: number; iteration: string } {
  const { definition } = commit.graph;
  const { node } = place;
  const { visits, prefix } = commit.scope(scope);
  const visit = (own(visits, node.id) ?? 0) + 1;
  const ofNode = "maxVisits" in node ? node.maxVisits : undefined;
  const maxVisits = ofNode ?? definition.maxVisits ?? 100;
  const maxSteps = definition.maxSteps ?? 10_000;
  const iteration = `${prefix}${visit}`;
  if (visit > maxVisits)
    throw new LimitPassed(
      { code: "LOOP_LIMIT", message: `the node '${node.id}' was entered more than ${maxVisits} times; its maxVisits allows no more`, node: node.id, iteration },
      from,
    );
  if (commit.state.stepCount >= maxSteps)
    throw new LimitPassed(
      { code: "STEP_LIMIT", message: `the run has ${maxSteps} steps; maxSteps of its definition allows no more`, node: node.id, iteration },
      from,
    );
  return { visit, iteration };
}

/** Returns the lineage of a token at a node: its visits of the splits above, and this one. */
export function lineage(commit: Commit, { lin, scope }: Pick<Token, "lin" | "scope">, place: Place, visit?: number): TokenLineage {
  const { id } = place.node;
  const kept: Record<string, number> = {};
  for (const split of place.splits) {
    // A run that goes on with a newer definition may know nothing of a split: then the latest visit of it counts.
    if (split !== id) kept[split] = own(lin, split) ?? own(commit.scope(scope).visits, split) ?? 0;
    else if (visit !== undefined) kept[split] = visit;
  }
  return kept;
}

/** The marks of a token that goes on from this node: one that passes a join's split is a new generation for it. */
export function marks(late: readonly string[] | undefined, { closes }: Place): { late?: readonly string[] } {
  const kept = late?.filter((join) => !closes.includes(join)) ?? [];
  return kept.length === 0 ? {} : { late: kept };
}

function arriveAtJoin(commit: Commit, token: Token, place: Place, split: string | null, edge: number): void {
  const node = place.node.id;
  const { from, scope, late } = token;
  const lin = lineage(commit, token, place);
  const group = groupId(scope, node, split === null ? 0 : (own(lin, split) ?? 0));
  if (late?.includes(node)) commit.write("join.late", { node, group, from });
  else commit.write("join.arrived", { node, group, scope, from, edge, lin, ...(late === undefined ? {} : { late }) });
}
