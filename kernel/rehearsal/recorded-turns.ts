import type { Collection } from "@svc/sdk";
import { fail } from "../base/errors.ts";
import type { StateStore } from "../base/state-store.ts";
import { type TaskRecord, TRACES } from "../core/flow/record.ts";
import type { Batch } from "./rehearsal.ts";

/** Filter of recorded tasks; the newest of all matches. */
export interface TurnQuery {
  readonly task?: string;
  readonly agent?: string;
  /** In Unix milliseconds. */
  readonly since?: number;
  readonly last: number;
}

const PAGE = 100;

/** Turns that are over, newest first, each with the messages it answered. Throws `SVC_TRACE_UNKNOWN`. */
export async function recordedTurns(store: StateStore, { task, agent, since = 0, last }: TurnQuery): Promise<readonly Batch[]> {
  const records = store.scope("core").collection<TaskRecord>(TRACES);
  if (task !== undefined) {
    const found = await records.get(task);
    if (found === undefined) throw fail("SVC_TRACE_UNKNOWN", { trace: task });
    const lead = found.value.lead === undefined ? undefined : await records.get(found.value.lead);
    return [await batchOf(lead?.value ?? found.value, records)];
  }
  const batches: Batch[] = [];
  for (let after: string | undefined; ; ) {
    const page = await records.list({ reverse: true, limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { value } of page) {
      if (value.startedAt < since) return batches;
      // Rows of old versions have no message; a task answered by another one's turn is read with that one.
      if (value.inbound === undefined || value.lead !== undefined || value.status === "in-flight") continue;
      if (agent !== undefined && value.agent !== agent) continue;
      batches.push(await batchOf(value, records));
      if (batches.length === last) return batches;
    }
    if (page.length < PAGE) return batches;
    after = page.at(-1)?.key;
  }
}

async function batchOf(record: TaskRecord, records: Collection<TaskRecord>): Promise<Batch> {
  const others = (record.tasks ?? []).filter((id) => id !== record.id);
  const found = await Promise.all(others.map((id) => records.get(id)));
  return [record, ...found.flatMap((one) => (one === undefined ? [] : [one.value]))];
}
