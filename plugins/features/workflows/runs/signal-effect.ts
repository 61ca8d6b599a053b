import { codeOf, type WorkflowSignal, type WorkflowSignaled } from "@svc/sdk";
import type { Definition } from "../engine/types.ts";
import { Batch } from "./batch.ts";
import type { EffectRunner } from "./effects.ts";
import { faultOf } from "./reader.ts";
import type { RunRooms } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";

/** Operations of a step on the runs that it signals. */
export interface Signaling {
  signal(runId: string, signal: WorkflowSignal & { readonly onlyWaiting?: boolean }): Promise<WorkflowSignaled & { readonly dropped: boolean }>;
  definition(hash: string): Promise<Definition>;
}

/** Runs looked through at once for a signal to a whole workflow. */
const PAGE = 200;

/** Steps of the kind `emitSignal`. The signal has the key of the step: sent once more after a stop, it is taken once. */
export const signalEffect =
  (rooms: RunRooms, { signal, definition }: Signaling): EffectRunner =>
  async ({ runId, row, step, key, signal: aborted }) => {
    const { hash, state } = row;
    const shelf = new Shelf(runId, rooms.values, row);
    const batch = new Batch({ definition: await definition(hash), state, shelf, boot: "", claims: false });
    let sent: Awaited<ReturnType<Batch["emitted"]>>;
    try {
      sent = await batch.emitted(step);
    } catch (error) {
      return { fault: faultOf(error) };
    }
    const counts = { delivered: 0, stored: 0, dropped: 0 };
    const send = async (to: string, onlyWaiting = false) => {
      const told = await signal(to, { name: sent.name, payload: sent.payload, key, stored: sent.stored, onlyWaiting }).catch((error) => {
        const code = codeOf(error);
        if (code !== "SVC_WORKFLOW_RUN_STATE" && code !== "SVC_WORKFLOW_RUN_UNKNOWN") throw error;
        return { delivered: false, stored: false, duplicate: false, dropped: true };
      });
      counts.delivered += told.delivered ? 1 : 0;
      counts.stored += told.stored ? 1 : 0;
      counts.dropped += told.dropped ? 1 : 0;
    };
    const { to } = sent;
    if (to === "self") await send(runId);
    // A replayed run must not signal other runs.
    else if (state.entry.kind === "replay") counts.dropped += 1;
    else if (to === "parent") await (state.parentRunId === undefined ? (counts.dropped += 1) : send(state.parentRunId));
    else if (to.startsWith("run:")) await send(to.slice("run:".length));
    else if (to === "children") for await (const child of found(rooms, { parent: runId })) await send(child);
    else if (to.startsWith("workflow:"))
      for await (const other of found(rooms, { workflow: to.slice("workflow:".length), status: "running" }, sent.name)) await send(other, true);
    else
      return {
        fault: { code: "EXPR_TYPE", message: `a signal cannot go to '${to.slice(0, 100)}'; write self, parent, children, run:<id> or workflow:<id>` },
        retryable: false,
      };
    return aborted.aborted ? undefined : { output: counts };
  };

/** The live runs that are asked for; with `name` those that wait for the signal. */
async function* found(rooms: RunRooms, where: Readonly<Record<string, string>>, name?: string): AsyncGenerator<string> {
  for (let after: string | undefined; ; ) {
    const page = await rooms.runs.list({ where, limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { key, value } of page) {
      if (value.endedAt !== undefined) continue;
      if (name === undefined || Object.values(value.state.steps).some(({ wait }) => wait?.kind === "signal" && wait.for === name)) yield key;
    }
    after = page.at(-1)?.key;
    if (page.length < PAGE) return;
  }
}
