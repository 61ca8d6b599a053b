import { codeOf, type Query, type WorkflowRun } from "@svc/sdk";
import { fail } from "./run-errors.ts";
import type { RunRooms, RunRow } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";
import { runView } from "./views.ts";

/** Filter of listed runs, newest first. */
export interface RunQuery {
  readonly summary: boolean;
  readonly limit: number;
  /** `open`: running or paused. */
  readonly status?: WorkflowRun["status"] | "open";
  readonly workflow?: string;
  readonly parent?: string;
  readonly root?: string;
  /** Unix milliseconds. */
  readonly since?: number;
  /** Ended at this time or later, the last ended first; Unix milliseconds. */
  readonly ended?: number;
  /** In its id, or in the id or name of its workflow; upper and lower case are the same. */
  readonly text?: string;
  readonly cursor?: string;
}

/** A page of runs; `next` is the cursor of the one after it. */
export interface RunPage {
  readonly runs: readonly WorkflowRun[];
  readonly next?: string;
}

const PAGE = 500;
/** Rows that are read at most for one page of a search. */
const MOST_READ = 5_000;

/** A page of runs. Throws `SVC_WORKFLOW_CURSOR`. With a text a page may be short, or empty, and have a next one: so many rows are read for it. */
export async function listRuns(rooms: RunRooms, query: RunQuery): Promise<RunPage> {
  const { status, limit, summary, ended } = query;
  const by = ended === undefined ? "createdAt" : "endedAt";
  const newer = (one: Found, other: Found) => (other.value[by] ?? 0) - (one.value[by] ?? 0) || (one.key < other.key ? 1 : -1);
  const lists = await Promise.all((status === "open" ? (["running", "paused"] as const) : [status]).map((one) => readRuns(rooms, query, one)));
  // Where one list was not read to its end, nothing that is older than its end may be shown yet.
  const [horizon] = lists.flatMap(({ stopped }) => (stopped === undefined ? [] : [stopped])).sort(newer);
  const found = lists
    .flatMap(({ rows }) => rows)
    .sort(newer)
    .filter((row) => horizon === undefined || row.key === horizon.key || newer(row, horizon) < 0);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : horizon;
  const runs = await Promise.all(page.map(({ value }) => wholeRun(rooms, value, summary)));
  return { runs, ...(last === undefined ? {} : { next: last.key }) };
}

type Found = { readonly key: string; readonly value: RunRow };

/** Rows of one status, one more than asked for; `stopped`: the last one that was read, where there may be others behind it. */
async function readRuns(
  rooms: RunRooms,
  { limit, workflow, parent, root, since, ended, text, cursor }: RunQuery,
  status: WorkflowRun["status"] | undefined,
): Promise<{ readonly rows: readonly Found[]; readonly stopped?: Found }> {
  const where = { ...(status && { status }), ...(workflow && { workflow }), ...(parent && { parent }), ...(root && { root }) };
  const from = ended ?? since;
  const query: Query = { by: ended === undefined ? "createdAt" : "endedAt", reverse: true, where, ...(from === undefined ? {} : { from }) };
  const most = text === undefined ? limit + 1 : PAGE;
  const rows: Found[] = [];
  let after = cursor;
  for (let read = 0; ; ) {
    const found = await rooms.runs.list({ ...query, limit: most, ...(after === undefined ? {} : { after }) }).catch((error) => {
      throw codeOf(error) === "SVC_STORE_CURSOR" ? fail("SVC_WORKFLOW_CURSOR", { cursor, field: "cursor" }) : error;
    });
    rows.push(...(text === undefined ? found : found.filter(({ value }) => isMeant(value, text))));
    read += found.length;
    const stopped = found.at(-1);
    if (found.length < most || stopped === undefined) return { rows };
    if (rows.length > limit || read >= MOST_READ) return { rows, stopped };
    after = stopped.key;
  }
}

const isMeant = ({ state: { id }, workflow, name = "" }: RunRow, text: string) => `${id}\n${workflow}\n${name}`.toLowerCase().includes(text.toLowerCase());

/** A run with its large values in place. */
export async function wholeRun(rooms: RunRooms, row: RunRow, summary = false): Promise<WorkflowRun> {
  return (await new Shelf(row.state.id, rooms.values, row).whole(runView(row, { summary }))) as WorkflowRun;
}
