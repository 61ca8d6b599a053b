import type { Collection, PluginContext } from "@svc/sdk";
import type { RunStatus } from "../engine/types.ts";
import type { RunRooms, RunRow } from "../runs/run-rows.ts";
import type { TaskRow } from "../tasks/task-row.ts";

/** A trigger of a workflow in svc.json, beside people. */
export interface Starter {
  readonly kind: "schedule" | "webhook" | "messages";
  /** The job or the webhook; of messages nothing. */
  readonly id: string;
  /** The schedule or the type of the event as it is written. */
  readonly detail?: string;
}

/** One of the newest runs of a workflow. Times in ISO 8601. */
export interface LastRun {
  readonly id: string;
  readonly status: RunStatus;
  /** The run is running without a step at work, and a person has an open task of it. */
  readonly waitsForPerson?: true;
  readonly createdAt: string;
  readonly endedAt?: string;
}

/** Facts shown beside a workflow in a list. */
export interface WorkflowStarts {
  /** The newest runs, the newest first. Times in ISO 8601. */
  readonly lastRuns: readonly LastRun[];
  readonly starters: readonly Starter[];
  /** The next start by a schedule, in ISO 8601. */
  readonly nextStart?: string;
}

/** The newest `most` runs of each workflow, and what starts it. `matching`: messages of people may. */
export async function workflowStarts(
  { settings, jobs }: Pick<PluginContext, "settings" | "jobs">,
  rooms: Pick<RunRooms, "runs">,
  tasks: Collection<TaskRow>,
  workflows: readonly { readonly id: string; readonly definition: { readonly match?: object } }[],
  most: number,
  matching: boolean,
): Promise<ReadonlyMap<string, WorkflowStarts>> {
  // A daemon that is embedded may have no file to read.
  const { document } = await settings.read().catch(() => ({ document: {} }));
  const found = new Map<string, WorkflowStarts>();
  for (const { id, definition } of workflows) {
    const rows = await rooms.runs.list({ where: { workflow: id }, by: "createdAt", reverse: true, limit: most });
    const schedules = schedulesOf(document, id);
    const times = await Promise.all(schedules.map(({ detail, zone }) => jobs.next(detail, zone, { count: 1 }).catch(() => [])));
    const [next] = times.flat().sort((one, other) => one.getTime() - other.getTime());
    const starters: Starter[] = [
      ...schedules.map(({ id: job, detail }): Starter => ({ kind: "schedule", id: job, detail })),
      ...webhooksOf(document, id),
      ...(matching && definition.match !== undefined ? [{ kind: "messages", id: "" } as const] : []),
    ];
    const lastRuns = rows.map(async ({ key, value }): Promise<LastRun> => {
      const { status, createdAt, endedAt } = value;
      return {
        id: key,
        status,
        ...((await waitsForPerson(key, value, tasks)) ? { waitsForPerson: true } : {}),
        createdAt: new Date(createdAt).toISOString(),
        ...(endedAt === undefined ? {} : { endedAt: new Date(endedAt).toISOString() }),
      };
    });
    found.set(id, {
      lastRuns: await Promise.all(lastRuns),
      starters,
      ...(next === undefined ? {} : { nextStart: next.toISOString() }),
    });
  }
  return found;
}

async function waitsForPerson(id: string, { status, busy }: RunRow, tasks: Collection<TaskRow>): Promise<boolean> {
  if (status !== "running" || busy === 1) return false;
  return (await tasks.count({ where: { run: id, state: "open" } })) > 0;
}

function schedulesOf(document: Readonly<Record<string, unknown>>, workflow: string): readonly { id: string; detail: string; zone?: string }[] {
  return Object.entries(recordOf(document["crons"])).flatMap(([id, given]) => {
    const { workflow: named, schedule, timezone, enabled } = recordOf(given);
    if (named !== workflow || typeof schedule !== "string" || enabled === false) return [];
    return [{ id, detail: schedule, ...(typeof timezone === "string" ? { zone: timezone } : {}) }];
  });
}

function webhooksOf(document: Readonly<Record<string, unknown>>, workflow: string): readonly Starter[] {
  const webhooks = Array.isArray(document["webhooks"]) ? document["webhooks"].map(recordOf) : [];
  return webhooks.flatMap(({ id, triggers, defaultWorkflow, enabled }): readonly Starter[] => {
    if (typeof id !== "string" || enabled === false) return [];
    const events = Object.entries(recordOf(triggers)).filter(([, named]) => named === workflow);
    return [
      ...events.map(([event]): Starter => ({ kind: "webhook", id, detail: event })),
      ...(defaultWorkflow === workflow ? [{ kind: "webhook", id } as const] : []),
    ];
  });
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
