import type { WorkflowRun, WorkflowWait } from "@svc/sdk";
import { contextOf } from "../engine/names.ts";
import type { Entry, StepState } from "../engine/types.ts";
import type { RunRow, StepRow } from "./run-rows.ts";

/** A run as lists and callers see it (WORKFLOWS 8). Large values stand as references. */
export function runView(row: RunRow, { summary = false }: { readonly summary?: boolean } = {}): WorkflowRun {
  const { state, workflow, hash, status, name } = row;
  const { id, entry, rootId, parentRunId, parentStep, restartOf, input, output, error, startedAt, updatedAt, endedAt } = state;
  return {
    id,
    workflowId: workflow,
    ...(name === undefined ? {} : { name }),
    hash,
    status,
    entry,
    rootId,
    ...(parentRunId === undefined ? {} : { parentRunId }),
    ...(parentStep === undefined ? {} : { parentStep }),
    ...(restartOf === undefined ? {} : { restartOf }),
    ...(summary ? {} : { input, ...(output === undefined ? {} : { output }) }),
    ...(error === undefined ? {} : { error }),
    createdAt: iso(startedAt),
    updatedAt: iso(updatedAt),
    ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
    waits: endedAt === undefined ? Object.values(state.steps).flatMap(waitView) : [],
    ...(summary ? {} : { context: contextOf(state) }),
  };
}

/** Returns the wait of a step; a running one waits for its effect. */
function waitView({ node, iteration, status, wait, claimedAt, timeoutAt, id }: StepState): WorkflowWait[] {
  const where = { node, iteration };
  if (wait !== undefined)
    return [{ ...where, kind: wait.kind, since: iso(wait.since), ...(wait.until === undefined ? {} : { until: iso(wait.until) }), for: wait.for }];
  if (status !== "running") return [];
  return [{ ...where, kind: "effect", since: iso(claimedAt ?? 0), ...(timeoutAt === undefined ? {} : { until: iso(timeoutAt) }), for: id }];
}

/** A step as a timeline shows it. */
export const stepView = (id: string, { readyAt, claimedAt, endedAt, ...row }: StepRow) => ({
  id,
  ...row,
  readyAt: iso(readyAt),
  ...(claimedAt === undefined ? {} : { claimedAt: iso(claimedAt) }),
  ...(endedAt === undefined ? {} : { endedAt: iso(endedAt) }),
});

/** An entry as a timeline shows it: its times in ISO 8601. */
export const entryView = ({ at, ...entry }: Entry) => ({ ...entry, at: iso(at) });

const iso = (at: number) => new Date(at).toISOString();
