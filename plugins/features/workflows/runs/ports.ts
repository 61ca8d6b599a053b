import type { Op } from "@svc/sdk";
import type { Definition, Entry, Node, RunStatus } from "../engine/types.ts";
import type { RunRow, StepRow } from "./run-rows.ts";

/** A definition of the operator, as it may be run. */
export interface Loaded {
  readonly definition: Definition;
  readonly hash: string;
  /** Why it cannot be run. */
  readonly broken?: string;
}

/** The definitions, as runs need them. */
export interface DefinitionPort {
  get(id: string): Promise<Loaded | undefined> | Loaded | undefined;
  /** The places of its nodes on a page. */
  layout?(id: string): Promise<unknown>;
}

/** A run, as others in this package know it. */
export interface KnownRun {
  readonly id: string;
  readonly workflow: string;
  readonly status: RunStatus;
  readonly rootId: string;
  readonly ownerAgent?: string;
}

/** Inputs of a user task. */
export interface TaskStep {
  readonly node: Node;
  /** The key of the effect: `<run>/<node>/<iteration>`. */
  readonly key: string;
  /** With the evaluated title, detail, assignee and form in `input`. */
  readonly row: StepRow;
}

/** User tasks: their rows follow from the journal and are written in the same commit. */
export interface TaskPort {
  /** The writes for what these entries say of tasks. */
  rows(run: KnownRun, entries: readonly Entry[], step: (id: string) => TaskStep | undefined): Promise<readonly Op[]>;
  /** The entries are stored: assignees may be notified. Must not throw. */
  committed(run: KnownRun, entries: readonly Entry[]): void;
}

/** Answers for the effects of a replayed run. */
export interface ReplayPort {
  /** Throws an error with the code `REPLAY_MISS` where the trace has no answer (left). */
  answer(row: RunRow, step: { readonly node: Node; readonly iteration: string; readonly input: unknown }): Promise<unknown>;
}
