import type { RunHead } from "./entries.ts";
import { own } from "./own.ts";
import type { GroupState, ItemsState, RunState, ScopeState, StepResult, StepState } from "./run-state.ts";
import { iterationOf, nodeOf } from "./step-ids.ts";

type Maps = "steps" | "groups" | "scopes";

/** A state that entries are written to. What it was made of stays as it is: each part is copied before its first change. */
export class RunDraft {
  known: RunState | undefined;
  private readonly copied = new WeakSet<object>();

  constructor(state: RunState | undefined) {
    this.known = state;
  }

  get state(): RunState {
    if (this.known === undefined) throw new Error("a journal begins with run.started");
    return this.known;
  }

  begin(run: RunHead, prior: RunState | undefined, at: number): void {
    const top: ScopeState = { id: "", prefix: "", visits: {}, results: {} };
    const empty = { stepCount: 0, steps: {}, groups: {}, scopes: { "": top }, signals: [], signalKeys: [] };
    const { stepCount, steps, groups, scopes, signals, signalKeys } = prior ?? empty;
    this.known = { ...run, status: "running", seq: 0, startedAt: at, updatedAt: at, stepCount, steps, groups, scopes, signals, signalKeys };
  }

  set(fields: Partial<RunState>): void {
    const known = this.state;
    if (this.copied.has(known)) Object.assign(known, fields);
    else this.known = this.owned({ ...known, ...fields });
  }

  live(id: string): StepState {
    const step = this.state.steps[id];
    if (step === undefined) throw new Error(`the journal names the step '${id}', which is not live there`);
    return step;
  }

  step(step: StepState): void {
    this.map("steps")[step.id] = step;
  }

  /** A step is over. */
  gone(id: string): void {
    delete this.map("steps")[id];
  }

  group(group: GroupState): void {
    this.map("groups")[group.id] = group;
  }

  noGroup(id: string): void {
    delete this.map("groups")[id];
  }

  scope(scope: ScopeState): void {
    this.map("scopes")[scope.id] = scope;
  }

  visited(scope: string, node: string, visit: number): void {
    const state = this.inner(scope);
    (state.visits as Record<string, number>)[node] = visit;
    this.set({ stepCount: this.state.stepCount + 1 });
  }

  result(scope: string, node: string, result: StepResult): void {
    (this.inner(scope).results as Record<string, StepResult>)[node] = result;
  }

  /** An item starts. Its visits count on from those of earlier attempts, so that no step id is used twice. */
  openScope(id: string, owner: string, index: number): void {
    const visits = this.live(owner).itemVisits ?? {};
    this.scope({ id, owner, index, prefix: `${iterationOf(owner)}.${index}.`, visits, results: {} });
  }

  /** An item is over: of its scope nothing is kept but how often each node was entered at most. */
  closeScope(id: string, step: string): void {
    const { visits } = this.state.scopes[id] as ScopeState;
    this.items(step, (items) => ({ ...items, visits: most(items.visits ?? {}, visits) }));
    delete this.map("scopes")[id];
  }

  items(step: string, change: (items: ItemsState) => ItemsState): void {
    const live = this.live(step);
    if (live.items !== undefined) this.step({ ...live, items: change(live.items) });
  }

  noSignal(): void {
    const { signal, ...rest } = this.state;
    this.known = this.owned(rest);
  }

  /** The value that a token carries on from there: what a step gave, an item of a `forEach`, or the input of the run. */
  valueFrom(from: string | null, scope: string): unknown {
    const { input, steps, scopes } = this.state;
    if (from === null) return input;
    const live = steps[from];
    // A live step lets go of a token where a `forEach` starts an item, and where a task is overdue.
    if (live !== undefined) return live.items === undefined ? live.in : live.items.list[scopes[scope]?.index ?? 0];
    const result = own(scopes[scope]?.results ?? {}, nodeOf(from));
    if (result === undefined) return null;
    return result.error === undefined ? (result.output ?? null) : { error: result.error };
  }

  private inner(id: string): ScopeState {
    const scope = this.state.scopes[id] as ScopeState;
    if (this.copied.has(scope)) return scope;
    const copy = this.owned({ ...scope, visits: { ...scope.visits }, results: { ...scope.results } });
    this.scope(copy);
    return copy;
  }

  private map<K extends Maps>(name: K): Record<string, RunState[K][string]> {
    const map = this.state[name];
    if (this.copied.has(map)) return map as Record<string, RunState[K][string]>;
    const copy = this.owned({ ...map }) as Record<string, RunState[K][string]>;
    this.set({ [name]: copy });
    return copy;
  }

  private owned<T extends object>(made: T): T {
    this.copied.add(made);
    return made;
  }
}

/** The larger number of each key. */
export function most(one: Readonly<Record<string, number>>, other: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const keys = Object.keys(other).filter((key) => (own(one, key) ?? 0) < (other[key] as number));
  return keys.length === 0 ? one : { ...one, ...Object.fromEntries(keys.map((key) => [key, other[key] as number])) };
}
