import { applyTo } from "./apply.ts";
import type { Entry, EntryFields, EntryKind, RunError } from "./entries.ts";
import { type Graph, type Place, placeOf } from "./graph.ts";
import type { Command } from "./inputs.ts";
import { own } from "./own.ts";
import { RunDraft } from "./run-draft.ts";
import type { RunState, ScopeState, StepState } from "./run-state.ts";

/** An item of a `forEach` that has ended; without an error it is good. */
export interface EndedItem {
  readonly step: string;
  readonly index: number;
  readonly error?: RunError;
}

/** Result of one input for a run: its entries, each applied as it is written, and the commands for the host. */
export class Commit {
  readonly entries: Entry[] = [];
  /** Scopes in which a join may fire or that may end. */
  readonly touched = new Set<string>();
  /** Items that have ended and that their `forEach` has not looked at yet. */
  readonly endedItems: EndedItem[] = [];
  readonly graph: Graph;
  readonly at: number;
  private readonly orders: Command[] = [];
  private readonly draft: RunDraft;

  constructor(graph: Graph, state: RunState | undefined, at: number) {
    this.graph = graph;
    this.at = at;
    this.draft = new RunDraft(state);
  }

  get state(): RunState {
    return this.draft.state;
  }

  write<K extends EntryKind>(kind: K, fields: EntryFields[K]): void {
    const seq = (this.draft.known?.seq ?? 0) + 1;
    const entry = { seq, at: this.at, kind, ...fields } as unknown as Entry;
    this.entries.push(entry);
    applyTo(this.draft, entry);
  }

  order(command: Command): void {
    this.orders.push(command);
  }

  /** The commands that still hold: a step that became ready and was canceled in the same commit is not to be claimed. */
  get commands(): readonly Command[] {
    const { status, steps } = this.state;
    return this.orders.filter((command) => command.do !== "claim" || (status === "running" && steps[command.step] !== undefined));
  }

  place(node: string): Place {
    return placeOf(this.graph, node);
  }

  step(id: string): StepState | undefined {
    return own(this.state.steps, id);
  }

  scope(id: string): ScopeState {
    return this.state.scopes[id] as ScopeState;
  }

  /** The live steps of a scope, in the order in which they became ready. */
  stepsIn(scope: string): StepState[] {
    return Object.values(this.state.steps).filter((step) => step.scope === scope);
  }

  get ended(): boolean {
    const { status } = this.state;
    return status === "completed" || status === "failed" || status === "canceled";
  }
}
