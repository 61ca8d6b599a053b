import type { Collection, Trace, Traces } from "@svc/sdk";
import { type TaskRecord, traceOf, withLead } from "./record.ts";

/** Reads task traces, newest first. Channels are few per agent, so that filter is applied while paging. */
export function createTraces(records: Collection<TaskRecord>): Traces {
  return {
    async get(id) {
      const found = await records.get(id);
      if (found === undefined) return undefined;
      const lead = found.value.lead === undefined ? undefined : await records.get(found.value.lead);
      return traceOf(lead === undefined ? found.value : withLead(found.value, lead.value));
    },
    async list({ agent, channel, status, before, limit = 50 } = {}) {
      const where = { ...(agent === undefined ? {} : { agent }), ...(status === undefined ? {} : { status }) };
      const found: Trace[] = [];
      for (let after: string | undefined; found.length < limit; ) {
        const page = await records.list({ where, reverse: true, limit: 200, ...(after === undefined ? {} : { after }) });
        for (const { value } of page) {
          const trace = traceOf(value);
          if ((channel === undefined || trace.channel === channel) && (before === undefined || trace.startedAt < before) && found.length < limit)
            found.push(trace);
        }
        after = page.at(-1)?.key;
        if (page.length < 200) break;
      }
      return found;
    },
  };
}
