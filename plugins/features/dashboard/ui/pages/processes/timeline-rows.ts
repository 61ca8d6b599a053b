import { labelOf, type PlacedNode } from "./graph-nodes.ts";
import type { Run, RunDetail, Step, Wait } from "./run-types.ts";

/** A line of the timeline: a visit of a node, or a node that the run passed by. */
export interface TimelineRow {
  /** Of the step; `skipped:<node>` for a node without one. */
  readonly id: string;
  readonly node: string;
  readonly label: string;
  /** `forEach` nodes around it. */
  readonly depth: number;
  /** Items around it counted from 1, then the visit where it is not the first: `item 3`, `visit 2`. */
  readonly item?: number;
  readonly visit?: number;
  readonly state: RowState;
  readonly step?: Step;
  readonly wait?: Wait;
}

/** The states of a line: those of a step, and `skipped`. */
export type RowState = Step["status"] | "skipped";

const isOver = (status: Run["status"]) => status === "completed" || status === "failed" || status === "canceled";

/** `1.0.2` is the second visit in item 0 of the first visit of the `forEach`. */
export function placeOf(iteration: string): { readonly item?: number; readonly visit: number } {
  const parts = iteration.split(".").map(Number);
  const visit = parts.at(-1) ?? 1;
  const item = parts.at(-2);
  return parts.length < 3 || item === undefined ? { visit } : { item: item + 1, visit };
}

/** The lines in the order in which the steps began; nodes that an ended run passed by stand behind what leads to them. */
export function timelineOf(run: Pick<RunDetail, "status" | "steps" | "waits">, nodes: ReadonlyMap<string, PlacedNode>): readonly TimelineRow[] {
  const rows: TimelineRow[] = run.steps.map((step) => {
    const placed = nodes.get(step.node);
    const { item, visit } = placeOf(step.iteration);
    const wait = run.waits.find(({ node, iteration }) => node === step.node && iteration === step.iteration);
    return {
      id: step.id,
      node: step.node,
      label: labelOf(placed?.node, step.node),
      depth: placed?.around.length ?? 0,
      state: step.status,
      step,
      ...(item === undefined ? {} : { item }),
      ...(visit > 1 ? { visit } : {}),
      ...(wait === undefined ? {} : { wait }),
    };
  });
  if (!isOver(run.status)) return rows;
  const visited = new Set(run.steps.map(({ node }) => node));
  for (const [id, { node, around, edges }] of nodes) {
    // A body that was never entered is told by its forEach.
    if (visited.has(id) || around.some((outer) => !visited.has(outer))) continue;
    const before = edges.filter(({ to }) => to === id).map(({ from }) => from);
    const at = rows.findLastIndex((row) => before.includes(row.node));
    rows.splice(at < 0 ? rows.length : at + 1, 0, { id: `skipped:${id}`, node: id, label: labelOf(node, id), depth: around.length, state: "skipped" });
  }
  return rows;
}

/** Where the eye goes first: what failed the run, else the newest that failed, waits, or is at work, else the last one. */
export function opensOn(run: Pick<RunDetail, "error" | "status">, rows: readonly TimelineRow[]): string | undefined {
  const { node, iteration } = run.error ?? {};
  const culprit = run.status === "failed" ? rows.find(({ step }) => step !== undefined && step.node === node && step.iteration === iteration) : undefined;
  const last = (...states: RowState[]) => rows.findLast(({ state }) => states.includes(state));
  const failed = run.status === "failed" ? last("failed", "timeout") : undefined;
  const live = isOver(run.status) ? undefined : (last("waiting") ?? last("running"));
  return (culprit ?? failed ?? live ?? rows.findLast(({ step }) => step !== undefined))?.id;
}

/** Returns the state of each node of the graph, by its newest visit; `count`: number of visits. */
export function graphStates(rows: readonly TimelineRow[]): Readonly<Record<string, { readonly state: RowState; readonly count: number }>> {
  const states: Record<string, { state: RowState; count: number }> = {};
  for (const { node, state } of rows) states[node] = { state, count: (states[node]?.count ?? 0) + (state === "skipped" ? 0 : 1) };
  return states;
}

/** The ports that tokens left by, as `<node>.<port>`. */
export function takenPorts(rows: readonly TimelineRow[]): ReadonlySet<string> {
  return new Set(rows.flatMap(({ node, step }) => (step?.ports ?? []).map((port) => `${node}.${port}`)));
}
