import { type PluginContext, reasonOf } from "@svc/sdk";
import { failureMessage } from "./agent-job.ts";
import type { Run, RunBook } from "./runs.ts";
import { type CronsSettings, type JobSettings, onErrorOf } from "./settings.ts";

/** After so many failures in a row `disable` turns a job off. */
const FAILURES_TO_DISABLE = 3;
/** From so many on a message is sent anyway (CRON-02). */
const FAILURES_TO_TELL = 2;

/** Dependencies of the consequences of a failure. */
export interface Consequences {
  readonly ctx: PluginContext<CronsSettings>;
  readonly book: RunBook;
  /** The settings of a job as they are now: they may have changed while it ran. */
  jobOf(id: string): JobSettings | undefined;
}

/**
 * Executes the consequences of a failed run, by `onError`: the log, the agent of a command job, a message, and turning the job off in svc.json.
 * Resolves with whether it was turned off. Repeated after a crash: notices to people may come twice; the agent is asked once. Never throws.
 */
export async function drawConsequences(by: Consequences, key: string, run: Run, failures: number): Promise<boolean> {
  const { ctx } = by;
  const job = by.jobOf(run.job);
  const facts = {
    job: run.job,
    run: key,
    failures,
    ...(run.taskId === undefined ? {} : { task: run.taskId }),
    ...(run.errorKind === undefined ? {} : { kind: run.errorKind }),
  };
  ctx.log.error(facts, `the job ${run.job} failed: ${run.error ?? "no reason"}`);
  // The job was deleted while it ran: there is no one to notify, and nothing to turn off.
  if (job === undefined) return false;
  const onError = onErrorOf(job);
  const off = onError.includes("disable") && failures >= FAILURES_TO_DISABLE && job.enabled ? await turnOff(ctx, run.job, failures) : undefined;
  if (run.kind === "command")
    await attempt(ctx, "the agent of a command job was not told", () => ctx.tasks.accept(failureMessage(run.job, run.agent, run, failures, key)));
  if (onError.includes("notify") || failures >= FAILURES_TO_TELL || off !== undefined)
    await attempt(ctx, "the message about a failed job was not sent", () => tell(ctx, job, key, textOf(run, failures, off)));
  return off?.done === true;
}

async function turnOff(ctx: PluginContext<CronsSettings>, id: string, failures: number): Promise<{ readonly done: boolean; readonly why?: string }> {
  try {
    await ctx.settings.change([{ path: ["crons", id, "enabled"], value: false }], { by: `the job ${id}: ${failures} failures in a row` });
    ctx.log.warn({ job: id, failures }, `the job ${id} is turned off after ${failures} failures in a row`);
    ctx.events.publish({
      kind: "status",
      type: "cron:disabled",
      summary: `the job ${id} is turned off after ${failures} failures in a row`,
      data: { job: id, failures },
    });
    return { done: true };
  } catch (error) {
    ctx.log.error({ job: id, err: error }, `the job ${id} could not be turned off in svc.json; its next failure tries again`);
    return { done: false, why: reasonOf(error) };
  }
}

function textOf({ job, error, kind, agent }: Run, failures: number, off: { readonly done: boolean; readonly why?: string } | undefined): string {
  const times = failures === 1 ? "" : ` It is failure number ${failures} in a row.`;
  const state =
    off === undefined
      ? ""
      : off.done
        ? ` It is turned off now; turn it on again with: svc schedule on ${job}`
        : ` It was to be turned off, and svc.json could not be changed: ${off.why}`;
  return `The scheduled job '${job}' (${kind === "agent" ? `agent ${agent}` : kind}) failed: ${error ?? "no reason"}.${times}${state}`;
}

/** To the job's own destination, else where notices go. */
async function tell(ctx: PluginContext<CronsSettings>, { notify }: JobSettings, key: string, text: string): Promise<void> {
  const title = "Scheduled job failed";
  if (notify !== undefined) {
    const { channel, chatId, accountId } = notify;
    const target = { channel, chat: chatId, ...(accountId === undefined ? {} : { account: accountId }) };
    const { sent } = await ctx.tasks.deliver({ kind: "notice", target, text, title });
    sent.catch((error) => ctx.log.warn({ err: error, channel }, "a message about a failed job has not arrived"));
    return;
  }
  const notifier = ctx.services.get("notifier");
  if (notifier === undefined) ctx.log.warn({ run: key }, "nobody is told of a failed job: it has no notify, and no plugin serves notices");
  else await notifier.notify({ text, title, key: `cron-failed:${key}` });
}

async function attempt(ctx: PluginContext<CronsSettings>, words: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    ctx.log.error({ err: error }, words);
  }
}
