import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { Collection, Trace, Traces } from "@svc/sdk";
import type { ScopedStore } from "../../base/state-store.ts";
import { firstTaskIdAt, type TaskRecord, TRACES, traceOf, withLead } from "./record.ts";

/** Documents read in one turn of the loop. */
const PAGE = 100;
/** A task is noted a moment before or after its id is made. */
const MARGIN_MS = 100;

/** The record of a task; of one that another one's turn has answered, with that answer. */
export async function readRecord(records: Collection<TaskRecord>, id: string): Promise<TaskRecord | undefined> {
  const found = await records.get(id);
  const lead = found?.value.lead === undefined ? undefined : await records.get(found.value.lead);
  return found === undefined || lead === undefined ? found?.value : withLead(found.value, lead.value);
}

/** Reads task traces, newest first. Whatever is asked for, the loop turns every few milliseconds. */
export function createTraces(core: Pick<ScopedStore, "collection" | "scan">): Traces {
  const records = core.collection<TaskRecord>(TRACES);
  return {
    async get(id) {
      const found = await readRecord(records, id);
      return found === undefined ? undefined : traceOf(found);
    },
    async list({ agent, channel, status, runId, before, limit = 50 } = {}) {
      const where = {
        ...(agent === undefined ? {} : { agent }),
        ...(status === undefined ? {} : { status }),
        ...(channel === undefined ? {} : { "inbound.channel": channel }),
        ...(runId === undefined ? {} : { "inbound.runId": runId }),
      };
      const found: Trace[] = [];
      let below = before === undefined ? undefined : firstTaskIdAt(before + MARGIN_MS);
      for (;;) {
        const page = await core.scan<TaskRecord>(TRACES, { where, limit: Math.min(PAGE, limit - found.length), ...(below === undefined ? {} : { below }) });
        for (const { value } of page.docs) if (before === undefined || value.startedAt < before) found.push(traceOf(value));
        if (page.below === undefined || found.length >= limit) return found;
        below = page.below;
        await turnOfTheLoop();
      }
    },
  };
}
