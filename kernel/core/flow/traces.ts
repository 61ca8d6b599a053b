import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import type { Collection, Trace, TraceQuery, Traces } from "@svc/sdk";
import { FIRST_PAGE, nextPage } from "../../base/page-size.ts";
import type { ScopedStore } from "../../base/state-store.ts";
import { firstTaskIdAt, type TaskRecord, TRACES, traceOf, withLead } from "./record.ts";

/** A task is noted a moment before or after its id is made. */
const MARGIN_MS = 100;

/** The record of a task; of one that another one's turn has answered, with that answer. */
export async function readRecord(records: Collection<TaskRecord>, id: string): Promise<TaskRecord | undefined> {
  const found = await records.get(id);
  const lead = found?.value.lead === undefined ? undefined : await records.get(found.value.lead);
  return found === undefined || lead === undefined ? found?.value : withLead(found.value, lead.value);
}

/** Reads task traces, newest first; `working` returns the record of a task in progress here. Every query yields to the event loop every few milliseconds. */
export function createTraces(
  core: Pick<ScopedStore, "collection" | "scan" | "scanKeys">,
  working: (id: string) => TaskRecord | undefined = () => undefined,
): Traces {
  const records = core.collection<TaskRecord>(TRACES);
  return {
    async get(id) {
      const live = working(id);
      // Its steps are completed in place while it runs.
      const found = live?.status === "in-flight" ? { ...live, steps: [...live.steps] } : await readRecord(records, id);
      return found === undefined ? undefined : traceOf(found);
    },
    async list({ before, limit = 50, ...query } = {}) {
      const { where, oldest } = readQuery(query);
      const found: Trace[] = [];
      let below = query.below ?? (before === undefined ? undefined : firstTaskIdAt(before + MARGIN_MS));
      for (let most = FIRST_PAGE; ; await turnOfTheLoop()) {
        const page = await core.scan<TaskRecord>(TRACES, { where, limit: Math.min(most, limit - found.length), ...(below === undefined ? {} : { below }) });
        for (const { key, value } of page.docs) if (key >= oldest && (before === undefined || value.startedAt < before)) found.push(traceOf(value));
        most = nextPage(page.docs.map(({ value }) => (value.inbound?.text.length ?? 0) + (value.response?.length ?? 0)));
        if (page.below === undefined || page.below < oldest || found.length >= limit) return found;
        below = page.below;
      }
    },
    async ids({ limit = 1_000, ...query } = {}) {
      const { where, oldest } = readQuery(query);
      const found: string[] = [];
      for (let { below } = query; ; await turnOfTheLoop()) {
        const page = await core.scanKeys(TRACES, { where, limit: limit - found.length, ...(below === undefined ? {} : { below }) });
        for (const key of page.keys) if (key >= oldest) found.push(key);
        if (page.below === undefined || page.below < oldest || found.length >= limit) return found;
        below = page.below;
      }
    },
  };
}

function readQuery({ agent, channel, status, runId, since = 0 }: TraceQuery): { readonly where: Readonly<Record<string, string>>; readonly oldest: string } {
  const asked = { agent, status, "inbound.channel": channel, "inbound.runId": runId };
  const where = Object.fromEntries(Object.entries(asked).filter((entry): entry is [string, string] => entry[1] !== undefined));
  return { where, oldest: since > 0 ? firstTaskIdAt(since) : "" };
}
