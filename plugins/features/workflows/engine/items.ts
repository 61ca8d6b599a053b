import { dropItems } from "./cancel.ts";
import type { Commit, EndedItem } from "./commit.ts";
import type { Nodes } from "./definition.ts";
import type { ItemsState, StepState } from "./run-state.ts";
import { itemScopeId } from "./step-ids.ts";
import { endStep, faultStep } from "./steps.ts";
import { arrive } from "./tokens.ts";

/** The list of a `forEach` is known: its first items start. */
export function openItems(commit: Commit, step: StepState, items: readonly unknown[], need: number | undefined): void {
  commit.write("items.opened", { step: step.id, items, ...(need === undefined ? {} : { need }) });
  advance(commit, step.id);
}

/** An item has ended: the `forEach` ends, fails, or starts the next. */
export function itemEnded(commit: Commit, { step: id, index, error }: EndedItem): void {
  const step = commit.step(id);
  if (step?.wait?.kind !== "items") return;
  const { onItemError = "fail" } = nodeOf(commit, step);
  if (error === undefined || onItemError === "continue") advance(commit, id);
  else faultStep(commit, step, { error: { code: error.code, message: error.message, details: { item: index, error } } });
}

/** Starts as many items as may run at once, unless the `forEach` is done. Not while the run is paused. */
export function advance(commit: Commit, id: string): void {
  const step = commit.step(id);
  // Its owner may be asked about it meanwhile.
  if (step?.wait?.kind !== "items") return;
  const { list, started, open, good, outputs, need } = step.items as ItemsState;
  if (need !== undefined && good >= need) {
    dropItems(commit, step, id);
    endStep(commit, step, ["out"], outputs);
  } else if (started < list.length) startItems(commit, step);
  else if (open.length === 0 && need !== undefined) {
    const message = `${good} of ${list.length} items of '${step.node}' are good, and ${need} are needed`;
    faultStep(commit, step, { error: { code: "JOIN_SHORT", message } });
  } else if (open.length === 0) endStep(commit, step, ["out"], outputs);
}

function startItems(commit: Commit, { id, items }: StepState): void {
  if (commit.state.status !== "running" || items === undefined) return;
  const { do: body, concurrency = 5 } = nodeOf(commit, commit.step(id) as StepState);
  const scopes: string[] = [];
  for (let index = items.started; index < items.list.length && items.open.length + scopes.length < concurrency; index++) {
    const scope = itemScopeId(id, index);
    commit.write("item.started", { step: id, index, scope });
    scopes.push(scope);
  }
  for (const scope of scopes) arrive(commit, { from: id, scope, lin: {} }, body.start, -1);
}

const nodeOf = (commit: Commit, { node }: StepState) => commit.place(node).node as Nodes["forEach"];
