import { codeOf, type Query, type WorkflowRun } from "@svc/sdk";
import { fail } from "./run-errors.ts";
import { entryKey, ofRun, type RunRooms, type RunRow } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";
import { entryView, runView, stepView } from "./views.ts";

/** Which runs are listed, newest first. */
export interface RunQuery {
  readonly summary: boolean;
  readonly limit: number;
  readonly status?: WorkflowRun["status"];
  readonly workflow?: string;
  readonly parent?: string;
  readonly root?: string;
  /** Unix milliseconds. */
  readonly since?: number;
  readonly cursor?: string;
}

/** A page of runs; `next` is the cursor of the one after it. */
export interface RunPage {
  readonly runs: readonly WorkflowRun[];
  readonly next?: string;
}

/** All that is known of a run. */
export interface RunDetail extends WorkflowRun {
  readonly timeline: readonly ReturnType<typeof entryView>[];
  /** The `after` of the next entries, where there are more. */
  readonly nextEntry?: number;
  readonly steps: readonly ReturnType<typeof stepView>[];
  readonly children: readonly { readonly id: string; readonly workflowId: string; readonly status: WorkflowRun["status"]; readonly parentStep?: string }[];
}

const CHILDREN = 200;
const STEPS_SHOWN = 1_000;

/** A page of runs. Throws `SVC_WORKFLOW_CURSOR`. */
export async function listRuns(rooms: RunRooms, { summary, limit, status, workflow, parent, root, since, cursor }: RunQuery): Promise<RunPage> {
  const where = { ...(status && { status }), ...(workflow && { workflow }), ...(parent && { parent }), ...(root && { root }) };
  const query: Query = {
    by: "createdAt",
    reverse: true,
    limit: limit + 1,
    where,
    ...(since === undefined ? {} : { from: since }),
    ...(cursor === undefined ? {} : { after: cursor }),
  };
  const found = await rooms.runs.list(query).catch((error) => {
    throw codeOf(error) === "SVC_STORE_CURSOR" ? fail("SVC_WORKFLOW_CURSOR", { cursor, field: "cursor" }) : error;
  });
  const page = found.slice(0, limit);
  const runs = await Promise.all(page.map(({ value }) => wholeRun(rooms, value, summary)));
  return { runs, ...(found.length > limit ? { next: page.at(-1)?.key as string } : {}) };
}

/** A run with its large values in place. */
export async function wholeRun(rooms: RunRooms, row: RunRow, summary = false): Promise<WorkflowRun> {
  return (await new Shelf(row.state.id, rooms.values, row).whole(runView(row, { summary }))) as WorkflowRun;
}

/** A run with a part of its journal, its steps and its sub-processes. Throws `SVC_WORKFLOW_RUN_UNKNOWN`. */
export async function detailOf(rooms: RunRooms, id: string, { after, limit }: { readonly after: number; readonly limit: number }): Promise<RunDetail> {
  const row = (await rooms.runs.get(id))?.value;
  if (row === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id });
  const shelf = new Shelf(id, rooms.values, row);
  const entries = (await rooms.entries.list({ after: entryKey(id, after), limit })).filter(({ key }) => key.startsWith(`${id}/`)).map(({ value }) => value);
  const steps: RunDetail["steps"][number][] = [];
  for await (const { key, value } of ofRun(rooms.steps, id)) {
    if (steps.push(stepView(key.slice(id.length + 1), value)) >= STEPS_SHOWN) break;
  }
  steps.sort((one, other) => (one.readyAt < other.readyAt ? -1 : one.readyAt > other.readyAt ? 1 : 0));
  const children = await rooms.runs.list({ where: { parent: id }, limit: CHILDREN });
  const last = entries.at(-1)?.seq;
  return (await shelf.whole({
    ...runView(row),
    timeline: entries.map(entryView),
    ...(last !== undefined && last < row.state.seq ? { nextEntry: last } : {}),
    steps,
    children: children.map(({ key, value: { workflow, status, state } }) => ({
      id: key,
      workflowId: workflow,
      status,
      ...(state.parentStep === undefined ? {} : { parentStep: state.parentStep }),
    })),
  })) as RunDetail;
}
