import type { Collection } from "@svc/sdk";
import type { CallRow, Line } from "./call-row.ts";
import type { LiveCall } from "./live-call.ts";

/** Call whose end is reported: a live one, or its row. */
export type Ended = Pick<LiveCall, "row" | "change">;

/** Retention of calls and their transcripts. */
const KEPT_MS = 30 * 86_400_000;
/** Reports that could not be sent in this time are dropped. */
const OWED_MS = 86_400_000;
const PAGE = 1_000;

/** Dependencies of recovering stored calls. */
export interface Recovery {
  readonly rows: Collection<CallRow>;
  readonly lines: Collection<Line>;
  readonly now: number;
  /** Calls of this process. */
  isLive(id: string): boolean;
  /** Whether the daemon of that name is gone, so that its calls have no owner. */
  isGone(owner: string): Promise<boolean>;
  settle(owner: Ended): Promise<void>;
}

/** Ends calls of a dead daemon, sends pending reports, and deletes old rows. */
export async function recoverCalls({ rows, lines, now, isLive, isGone, settle }: Recovery): Promise<void> {
  for (const { value } of await rows.list({ where: { live: 1 }, limit: PAGE }))
    if (!isLive(value.id) && (await isGone(value.owner)))
      await rows.put(value.id, { ...value, state: "ended", live: 0, owed: 1, endedAt: now, end: { reason: "restarted" } });
  for (const { value } of await rows.list({ where: { owed: 1 }, limit: PAGE })) {
    if (isLive(value.id) || !(await isGone(value.owner))) continue;
    if ((value.endedAt ?? value.at) < now - OWED_MS) await rows.put(value.id, { ...value, owed: 0 });
    else void settle(stored(value, rows));
  }
  for (const { value } of await rows.list({ by: "at", to: now - KEPT_MS, limit: PAGE })) {
    for (const { key } of await lines.list({ where: { call: value.id }, limit: PAGE })) await lines.delete(key);
    if ((await lines.count({ where: { call: value.id } })) === 0) await rows.delete(value.id);
  }
}

/** A row of before, as what its end is told from. */
function stored(first: CallRow, rows: Collection<CallRow>): Ended {
  let row = first;
  return {
    get row() {
      return row;
    },
    async change(change) {
      row = { ...row, ...change };
      await rows.put(row.id, row);
    },
  };
}
