import type { Collection, PluginContext } from "@svc/sdk";
import type { Input } from "../engine/types.ts";
import type { KnownRun, TaskPort } from "../runs/ports.ts";
import { createReminders } from "./reminders.ts";
import { createTaskQuestions } from "./task-questions.ts";
import type { TaskRow } from "./task-row.ts";
import { createTaskRows } from "./task-rows.ts";
import { createTasks, type TaskHost, type Tasks } from "./tasks.ts";

/** Dependencies of tasks. */
export interface TaskDeps {
  readonly ctx: Pick<PluginContext, "jobs" | "log" | "services" | "signal" | "store">;
  /** The runs; asked when they are needed, since each needs the other. */
  host(): TaskHost;
  /** Returns the recorded answer for a task of a replayed run; undefined for an ordinary run, whose tasks people answer. */
  replayed(runId: string, step: string): Promise<Input | undefined>;
}

/** The tasks of people, and how they follow the runs. */
export interface TaskRoom extends TaskPort {
  readonly tasks: Tasks;
  readonly collection: Collection<TaskRow>;
  /** Hears answers from now on, and does what a stop left undone. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** The plugin that asks people may be started anew. */
const LOOK_MS = 60_000;

/** Opens the tasks in the plugin's store. */
export function openTaskRoom({ ctx, host, replayed }: TaskDeps): TaskRoom {
  const rows = createTaskRows(ctx.store);
  const late: TaskHost = {
    input: (...given) => host().input(...given),
    load: (...given) => host().load(...given),
    names: (...given) => host().names(...given),
    evaluate: (...given) => host().evaluate(...given),
  };
  const tasks = createTasks(rows, late, (actor) => ctx.services.get("people")?.rolesOf(actor) ?? []);
  const questions = createTaskQuestions(ctx, rows, tasks.submit);
  const reminders = createReminders(ctx, rows, questions);
  let stopLooking: (() => void) | undefined;
  let stopped = false;
  let catchingUp: Promise<void> = Promise.resolve();

  /** People are asked; a replayed run answers itself. */
  async function opened(runId: string, taskId: string, step: string): Promise<void> {
    const answer = await replayed(runId, step);
    if (answer !== undefined) await late.input(runId, answer);
    else questions.opened(taskId);
  }
  const inBackground = (work: Promise<void>, taskId: string) =>
    void work.catch((error) => ctx.log.error({ err: error, task: taskId }, `the task ${taskId} is open and nobody was asked; the next start asks`));

  /** Tasks of replays left unanswered by a stop, and questions: there may be many, so this is not awaited. */
  async function catchUp(): Promise<void> {
    for (let after: string | undefined; !stopped; ) {
      const page = await rows.collection.list({ where: { state: "open" }, limit: 200, ...(after === undefined ? {} : { after }) });
      for (const { value } of page) {
        const answer = stopped ? undefined : await replayed(value.run, value.step);
        if (answer !== undefined) await late.input(value.run, answer);
      }
      after = page.at(-1)?.key;
      if (page.length < 200) break;
    }
    if (!stopped) await questions.reconcile();
  }
  const look = () => {
    catchingUp = catchingUp
      .then(() => questions.reconcile())
      .catch((error) => ctx.log.error({ err: error }, "the questions about tasks could not be looked through; tried again in a minute"));
  };

  return {
    tasks,
    collection: rows.collection,
    rows: rows.rows,
    committed(run: KnownRun, entries) {
      for (const entry of entries) {
        if (entry.kind === "task.created") {
          inBackground(opened(run.id, entry.taskId, entry.step), entry.taskId);
          reminders.look();
        } else if (entry.kind === "task.submitted") questions.closed(entry.taskId, entry.by === undefined ? "it was answered" : `answered by ${entry.by}`);
        else if (entry.kind === "task.canceled") questions.closed(entry.taskId, "the run does not need it any more");
      }
    },
    async start() {
      catchingUp = catchUp().catch((error) => ctx.log.error({ err: error }, "the open tasks could not be looked through; tried again in a minute"));
      reminders.look();
      stopLooking = ctx.jobs.every(LOOK_MS, look);
    },
    async stop() {
      stopped = true;
      stopLooking?.();
      await reminders.stop();
      await catchingUp;
    },
  };
}
