import { type Op, put, remove } from "@svc/sdk";
import type { Command, Definition, Entry, RunState } from "../engine/types.ts";
import { nextWake } from "../engine/wakes.ts";
import type { KnownRun } from "./ports.ts";
import { isOver, type RunRow } from "./run-rows.ts";
import type { Shelf } from "./shelf.ts";
import { parentKey, WAKES, type WakeRow } from "./wake-clock.ts";

/** Fields of a row beside its state. */
export type RunFacts = Pick<RunRow, "name" | "replayOf" | "pausedBy">;

/** When the run must be looked at next. One that is answered from what was recorded does not wait for a further attempt. */
export const lookAt = (state: RunState): number | undefined =>
  state.entry.kind === "replay" && Object.values(state.steps).some(({ wait }) => wait?.kind === "retry") ? state.updatedAt : nextWake(state);

/** A run as others of the package know it. */
export const knownRun = ({ id, workflow, status, rootId }: RunState, { ownerAgent }: Definition): KnownRun => ({
  id,
  workflow,
  status,
  rootId,
  ...(ownerAgent === undefined ? {} : { ownerAgent }),
});

/** The row's facts about its large values. */
export const shelfOf = ({ chars, shelved }: Shelf) => ({ chars, shelved });

/** The row's fields beside its state; while the run is paused, with the name of who paused it. */
export function factsOf({ name, replayOf, pausedBy }: RunFacts, entries: readonly Entry[]): RunFacts {
  let by = pausedBy;
  for (const entry of entries) {
    if (entry.kind === "run.paused") by = entry.by ?? "";
    if (entry.kind === "run.resumed") by = undefined;
  }
  return { ...(name === undefined ? {} : { name }), ...(replayOf === undefined ? {} : { replayOf }), ...(by === undefined ? {} : { pausedBy: by }) };
}

/** The row of a run in that state. */
export function rowOf(state: RunState, facts: RunFacts & Pick<RunRow, "chars" | "shelved">, wake: number | undefined): RunRow {
  const { workflow, status, hash, rootId, parentRunId, startedAt, endedAt } = state;
  const steps = Object.values(state.steps);
  const busy = !isOver(status) && steps.some((step) => step.status === "running" || (step.status === "ready" && status === "running"));
  return {
    state,
    workflow,
    status,
    hash,
    root: rootId,
    ...(parentRunId === undefined ? {} : { parent: parentRunId }),
    createdAt: startedAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    busy: busy ? 1 : 0,
    ...facts,
    ...(wake === undefined ? {} : { wake }),
  };
}

const ABOUT_CHILDREN = new Set<Command["do"]>(["cancelChild", "pauseChild", "resumeChild"]);

/** The writes by which sub-processes are told of what becomes of their parent: rows, so that no stop and no full disk comes in between. */
export function childOps(runId: string, commands: readonly Command[]): readonly Op[] {
  const children = commands.flatMap((command) => (ABOUT_CHILDREN.has(command.do) && "runId" in command ? [command.runId] : []));
  return [...new Set(children)].map((child) => put(WAKES, parentKey(child, runId), { due: Date.now() } satisfies WakeRow));
}

/** The write that keeps its row of the clock right. */
export function wakeOps(runId: string, before: number | undefined, due: number | undefined): readonly Op[] {
  if (due !== undefined) return due === before ? [] : [put(WAKES, runId, { due } satisfies WakeRow)];
  return before === undefined ? [] : [remove(WAKES, runId)];
}
