import type { Commit } from "./commit.ts";
import { itemEnded } from "./items.ts";
import { settleOnce } from "./joins.ts";
import { own } from "./own.ts";
import { failScope } from "./steps.ts";

/** After an input: joins that can fire do, scopes without a token end, until nothing changes. Nothing of it while the run is paused. */
export function settle(commit: Commit): void {
  for (;;) {
    const item = commit.endedItems.shift();
    if (item !== undefined) {
      itemEnded(commit, item);
      continue;
    }
    const scope = innermost(commit);
    if (scope === undefined || commit.state.status !== "running") return;
    const fired = isOpen(commit, scope) && settleOnce(commit, scope, ({ step, group }) => failShort(commit, scope, step, group.node));
    if (fired) continue;
    commit.touched.delete(scope);
    if (isOpen(commit, scope) && isEmpty(commit, scope)) endScope(commit, scope);
  }
}

/** Every scope that is in execution, to be settled when a run goes on. */
export function touchAll(commit: Commit): void {
  commit.touched.add("");
  for (const { items } of Object.values(commit.state.steps)) for (const scope of items?.open ?? []) commit.touched.add(scope);
}

function failShort(commit: Commit, scope: string, step: string, node: string): void {
  const error = own(commit.scope(scope).results, node)?.error;
  if (error !== undefined) failScope(commit, scope, error, step);
}

/** Inner scopes come first: what they end is a step of the scope around them. */
function innermost(commit: Commit): string | undefined {
  let found: string | undefined;
  let depth = -1;
  for (const scope of commit.touched) {
    const own = commit.state.scopes[scope]?.prefix.split(".").length ?? 0;
    if (own > depth) [found, depth] = [scope, own];
  }
  return found;
}

function isOpen(commit: Commit, scope: string): boolean {
  if (commit.ended) return false;
  const owner = commit.state.scopes[scope]?.owner;
  return scope === "" || (owner !== undefined && commit.step(owner)?.items?.open.includes(scope) === true);
}

function isEmpty(commit: Commit, scope: string): boolean {
  const { steps, groups } = commit.state;
  return !Object.values(steps).some((step) => step.scope === scope) && !Object.values(groups).some((group) => group.scope === scope);
}

function endScope(commit: Commit, scope: string): void {
  const { owner, index = 0, output = null } = commit.scope(scope);
  if (owner === undefined) {
    commit.write("run.completed", { output });
    commit.order({ do: "ended", status: "completed" });
    return;
  }
  commit.write("item.ended", { step: owner, index, scope, ok: true });
  commit.endedItems.push({ step: owner, index });
}
