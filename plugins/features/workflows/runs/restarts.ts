import type { WorkflowStarted } from "@svc/sdk";
import { missingNodes, restartFrom } from "../engine/restart.ts";
import type { Entry } from "../engine/types.ts";
import type { Host } from "./host.ts";
import type { DefinitionPort } from "./ports.ts";
import { fail } from "./run-errors.ts";
import { isOver, ofRun, type RunRooms } from "./run-rows.ts";
import { newRunId, startedOf } from "./starts.ts";

/** From where a run is done again, and by which definition. */
export interface RestartQuery {
  readonly step?: string;
  readonly definition?: "pinned" | "current";
}

const NOTHING_FAILED = "restarted without a step, because nothing failed; name the step to start from (svc workflow show lists them)";

/**
 * A new run that goes on where an ended one was before the step. Throws `SVC_WORKFLOW_RUN_STATE` for a live run, and for a completed one
 * without a step: all of it would be done again. Throws `SVC_WORKFLOW_STEP` where the journal or the current definition has no such place.
 */
export async function restartRun(
  { host, rooms, definitions }: { readonly host: Host; readonly rooms: RunRooms; readonly definitions: DefinitionPort },
  runId: string,
  { step, definition: which = "pinned" }: RestartQuery,
): Promise<WorkflowStarted> {
  const row = (await rooms.runs.get(runId))?.value;
  if (row === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id: runId });
  if (!isOver(row.status)) throw fail("SVC_WORKFLOW_RUN_STATE", { id: runId, runStatus: row.status, asked: "restarted" });
  if (row.status === "completed" && step === undefined) throw fail("SVC_WORKFLOW_RUN_STATE", { id: runId, runStatus: row.status, asked: NOTHING_FAILED });
  const { state } = row;
  const refuse = (reason: string) => fail("SVC_WORKFLOW_STEP", { id: runId, step: step ?? "its last step", reason, field: "step" });
  const journal: Entry[] = [];
  for await (const { value } of ofRun(rooms.entries, runId)) journal.push(value);
  const prior = restartFrom(journal, step);
  if (prior === undefined) throw refuse("its journal has no such step; see svc workflow show");
  const pinned = await host.definition(row.hash);
  const current = which === "current" ? await definitions.get(row.workflow) : undefined;
  if (which === "current") {
    if (current === undefined || current.broken !== undefined) throw refuse(current?.broken ?? "its workflow has no definition any more");
    const missing = missingNodes(pinned, current.definition, prior);
    if (missing.length > 0) throw refuse(`the current definition has no longer ${missing.join(", ")} as it was`);
  }
  const definition = current?.definition ?? pinned;
  const at = Date.now();
  const limit = state.timeoutAt === undefined ? {} : { timeoutAt: at + (state.timeoutAt - state.startedAt) };
  const { workflow, rootId, depth, entry } = state;
  const input = await host.whole(runId, row, state.input);
  const head = { id: newRunId(at), workflow, hash: current?.hash ?? row.hash, rootId, depth, entry, restartOf: runId, input, ...limit };
  return startedOf(await host.create({ definition, head, prior, ...(row.name === undefined ? {} : { name: row.name }) }));
}
