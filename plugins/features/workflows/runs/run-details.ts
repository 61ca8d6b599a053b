import type { WorkflowRun } from "@svc/sdk";
import type { Definition, Entry } from "../engine/types.ts";
import type { DefinitionPort } from "./ports.ts";
import { fail } from "./run-errors.ts";
import { entryKey, ofRun, type RunRooms, type RunRow } from "./run-rows.ts";
import { Shelf } from "./shelf.ts";
import { entryView, runView, stepView } from "./views.ts";

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

/** Options of reading a run. `brief`: without values and journal, for a page that polls. */
export interface DetailQuery {
  readonly after: number;
  readonly limit: number;
  readonly brief?: boolean;
}

/** A run with a part of its journal, its steps and its sub-processes. Throws `SVC_WORKFLOW_RUN_UNKNOWN`. */
export async function detailOf(rooms: RunRooms, id: string, { after, limit, brief = false }: DetailQuery): Promise<RunDetail> {
  const row = await known(rooms, id);
  const entries = brief
    ? []
    : (await rooms.entries.list({ after: entryKey(id, after), limit })).filter(({ key }) => key.startsWith(`${id}/`)).map(({ value }) => value);
  const steps: RunDetail["steps"][number][] = [];
  for await (const { key, value } of ofRun(rooms.steps, id)) {
    const { input: _input, output: _output, ...rest } = value;
    if (steps.push(stepView(key.slice(id.length + 1), brief ? rest : value)) >= STEPS_SHOWN) break;
  }
  steps.sort((one, other) => (one.readyAt < other.readyAt ? -1 : one.readyAt > other.readyAt ? 1 : (one.seq ?? 0) - (other.seq ?? 0)));
  const children = await rooms.runs.list({ where: { parent: id }, limit: CHILDREN });
  const last = entries.at(-1)?.seq;
  return (await new Shelf(id, rooms.values, row).whole({
    ...runView(row, { summary: brief }),
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

/** One step with all that the journal says of it. */
export interface StepDetail {
  readonly step: ReturnType<typeof stepView>;
  readonly entries: readonly ReturnType<typeof entryView>[];
}

/** A step with its values in place. Throws `SVC_WORKFLOW_RUN_UNKNOWN`, `SVC_WORKFLOW_STEP_UNKNOWN`. */
export async function stepOf(rooms: RunRooms, id: string, step: string): Promise<StepDetail> {
  const row = await known(rooms, id);
  const found = (await rooms.steps.get(`${id}/${step}`))?.value;
  if (found === undefined) throw fail("SVC_WORKFLOW_STEP_UNKNOWN", { id, step });
  const entries: Entry[] = [];
  for await (const { value } of ofRun(rooms.entries, id)) if ("step" in value && value.step === step) entries.push(value);
  return (await new Shelf(id, rooms.values, row).whole({ step: stepView(step, found), entries: entries.map(entryView) })) as StepDetail;
}

/** Executed definition of a run, and the current one of its workflow. */
export interface Executed {
  readonly definition: Definition;
  readonly hash: string;
  /** Current definition of the workflow; unset if none is executable. */
  readonly current?: string;
  /** Where its nodes stand on a page, as somebody has put them. */
  readonly layout?: unknown;
}

/** The definition that a run keeps to its end. Throws `SVC_WORKFLOW_RUN_UNKNOWN`. */
export async function executedBy(rooms: RunRooms, definitions: DefinitionPort, id: string): Promise<Executed> {
  const { hash, workflow } = await known(rooms, id);
  const definition = (await rooms.definitions.get(hash))?.value;
  if (definition === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id });
  const now = await definitions.get(workflow);
  const layout = await definitions.layout?.(workflow);
  return {
    definition,
    hash,
    ...(now === undefined || now.broken !== undefined ? {} : { current: now.hash }),
    ...(layout === undefined || layout === null ? {} : { layout }),
  };
}

async function known(rooms: RunRooms, id: string): Promise<RunRow> {
  const row = (await rooms.runs.get(id))?.value;
  if (row === undefined) throw fail("SVC_WORKFLOW_RUN_UNKNOWN", { id });
  return row;
}
