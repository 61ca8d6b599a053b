import type { MissedMinutes, PluginContext } from "@svc/sdk";
import type { Run, RunBook } from "./runs.ts";
import type { CronsSettings, JobSettings } from "./settings.ts";

const NEXT = 3;
const MISSED = 5;
/** As many as are kept of a job. */
const RUNS_LOOKED_AT = 200;

/** Dependencies of the routes and tools. */
export interface CronState {
  readonly book: RunBook;
  /** The jobs as configured now. */
  jobs(): CronsSettings;
}

/** A job as it is shown. Times in ISO 8601, but for those of runs. */
export interface JobView extends Omit<JobSettings, "fireToken"> {
  readonly id: string;
  /** The job can be started with a token. */
  readonly fire: boolean;
  readonly next: readonly string[];
  readonly running?: { readonly run: string; readonly since?: number; readonly taskId?: string };
  readonly last?: Run;
  /** Failures in a row. */
  readonly failures: number;
  /** Unix time at which three failures turned it off. */
  readonly turnedOff?: number;
  /** Times that passed without it, the newest ones: nothing is made up for. */
  readonly missed: readonly MissedMinutes[];
}

/** All jobs, or those that `shown` lets through. Prompts and commands stand as svc.json has them, with `${NAME}` in place of what it stands for. */
export async function overviewOf(
  ctx: PluginContext<CronsSettings>,
  { book, jobs }: CronState,
  shown: (job: JobSettings) => boolean = () => true,
): Promise<readonly JobView[]> {
  const written = await writtenJobs(ctx);
  const wanted = Object.entries(jobs()).filter(([, job]) => shown(job));
  return Promise.all(wanted.map(([id, job]) => viewOf(ctx, book, id, job, written[id])));
}

async function viewOf(
  ctx: PluginContext<CronsSettings>,
  book: RunBook,
  id: string,
  job: JobSettings,
  written: Partial<JobSettings> | undefined,
): Promise<JobView> {
  const { fireToken, prompt: _, command, ...plain } = job;
  const [streak, lock, [last], missed, next] = await Promise.all([
    book.streak(id),
    book.running(id),
    book.list(id, 1),
    ctx.jobs.missed(id),
    job.enabled && job.approval?.action !== "create" ? ctx.jobs.next(job.schedule, job.timezone, { count: NEXT }) : [],
  ]);
  const run = lock && (await book.get(lock.run));
  return {
    id,
    ...plain,
    prompt: written?.prompt ?? "",
    ...(command === undefined ? {} : { command: written?.command ?? "" }),
    fire: fireToken !== undefined && fireToken !== "",
    next: next.map((time) => time.toISOString()),
    ...(lock === undefined
      ? {}
      : { running: { run: lock.run, ...(run === undefined ? {} : { since: run.at }), ...(run?.taskId === undefined ? {} : { taskId: run.taskId }) } }),
    ...(last === undefined ? {} : { last }),
    failures: streak.failures,
    ...(streak.turnedOff === undefined ? {} : { turnedOff: streak.turnedOff }),
    missed: await unrun(book, id, missed.slice(-MISSED)),
  };
}

/** Of a minute whose end is not known the runs may tell that it ran. */
async function unrun(book: RunBook, id: string, missed: readonly MissedMinutes[]): Promise<readonly MissedMinutes[]> {
  if (!missed.some(({ unsure }) => unsure)) return missed;
  const ran = new Set((await book.list(id, RUNS_LOOKED_AT)).map(({ minute }) => minute));
  return missed.filter(({ unsure, first }) => unsure !== true || !ran.has(first));
}

async function writtenJobs(ctx: PluginContext<CronsSettings>): Promise<Readonly<Record<string, Partial<JobSettings>>>> {
  try {
    return ((await ctx.settings.read()).document["crons"] ?? {}) as Record<string, Partial<JobSettings>>;
  } catch (error) {
    ctx.log.warn({ err: error }, "svc.json cannot be read now: jobs are shown without their prompts");
    return {};
  }
}
