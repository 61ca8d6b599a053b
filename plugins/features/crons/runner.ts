import { codeOf, type LinkedAbort, linked, type PluginContext, reasonOf, svcError } from "@svc/sdk";
import { messageOf, outcomeOf } from "./agent-job.ts";
import { runCommand } from "./command-job.ts";
import { type Consequences, drawConsequences } from "./consequences.ts";
import { jobOf, type Outcome, type RunBook, type StartedBy } from "./runs.ts";
import { type CronsSettings, isPending, type JobSettings } from "./settings.ts";
import { startWorkflow } from "./workflow-job.ts";

/** Result of a request to start a job. */
export type Started = { readonly started: true; readonly run: string } | { readonly started: false; readonly reason: "running"; readonly run: string };

/** A run that this process works on. */
interface Live {
  readonly ended: Promise<void>;
}

/** Starts jobs, one run each at a time, and sees their runs through to what follows from them. */
export class Runner {
  readonly #ctx: PluginContext<CronsSettings>;
  readonly #book: RunBook;
  readonly #jobs: () => CronsSettings;
  readonly #consequences: Consequences;
  readonly #live = new Map<string, Live>();
  /** The end of the plugin, also while its `stop` runs. */
  readonly #ending: LinkedAbort;
  /** By job: starts that were refused because of a run. */
  readonly #overlaps = new Map<string, { readonly run: string; count: number }>();

  constructor(ctx: PluginContext<CronsSettings>, book: RunBook, jobs: () => CronsSettings) {
    this.#ctx = ctx;
    this.#book = book;
    this.#jobs = jobs;
    this.#ending = linked(ctx.signal);
    this.#consequences = { ctx, book, jobOf: (id) => jobs()[id] };
  }

  /**
   * Starts a job unless it runs already, which is not an error (CRON-09). Throws `SVC_CRON_UNKNOWN`, `SVC_CRON_PENDING` for one whose creation is not
   * approved (CRON-04), and `SVC_CRON_OFF`; the operator may run a disabled job by hand.
   */
  async start(id: string, by: StartedBy, minute?: Date): Promise<Started> {
    const jobs = this.#jobs();
    const job = Object.hasOwn(jobs, id) ? jobs[id] : undefined;
    if (job === undefined) throw unknownJob(id);
    if (isPending(job))
      throw svcError("SVC_CRON_PENDING", `The job '${id}' waits for the operator's yes and does not run; see svc schedule approve ${id}.`, { status: 409 });
    if (!job.enabled && by !== "manual") throw svcError("SVC_CRON_OFF", `The job '${id}' is turned off; see svc schedule on ${id}.`, { status: 409 });
    const kind = job.workflow !== undefined ? "workflow" : job.command === undefined ? "agent" : "command";
    const run = { job: id, by, kind, agent: job.agent, ...(minute === undefined ? {} : { minute: minute.toISOString() }) } as const;
    const begun = await this.#book.begin(run, (key) => this.#live.has(key));
    if ("running" in begun) {
      this.#refused(id, by, begun.running.run);
      return { started: false, reason: "running", run: begun.running.run };
    }
    this.#follow(begun.key, () => this.#work(id, job, begun.key));
    return { started: true, run: begun.key };
  }

  /** Takes up what an earlier life of the daemon left: tasks that go on, runs that are over, and consequences that are owed. */
  async recover(): Promise<void> {
    for (const { key, failures } of await this.#book.owed()) await this.#draw(key, failures);
    for (const { key, run } of await this.#book.left()) {
      if (this.#live.has(key)) continue;
      const { taskId } = run;
      if (taskId === undefined) await this.#end(key, LEFT);
      else this.#follow(key, async () => this.#end(key, await this.#resultOf(taskId)));
    }
  }

  /** Keeps the rows of what runs here. */
  renew(): Promise<void> {
    return this.#book.renew([...this.#live.keys()]);
  }

  /** Commands end with the plugin; runs of agents go on in the daemon and are taken up when the plugin is there again. */
  async stop(): Promise<void> {
    this.#ending.abort();
    const commands = [...this.#live].filter(([key]) => this.#jobs()[jobOf(key)]?.command !== undefined);
    await Promise.all(commands.map(([, { ended }]) => ended));
  }

  #refused(id: string, by: StartedBy, run: string): void {
    const known = this.#overlaps.get(id);
    if (known?.run === run) {
      known.count += 1;
      return;
    }
    this.#overlaps.set(id, { run, count: 1 });
    this.#ctx.log.warn({ job: id, by, run }, `the job ${id} still runs and is not started again`);
    this.#ctx.events.publish({
      kind: "status",
      type: "cron:overlap",
      summary: `the job ${id} still runs and is not started again`,
      data: { job: id, by, run },
    });
  }

  #follow(key: string, work: () => Promise<void>): void {
    const ended = this.#ctx.events.root(async () => {
      try {
        await work();
      } catch (error) {
        if (this.#ending.signal.aborted || codeOf(error) === "SVC_DAEMON_DRAINING") return;
        this.#ctx.log.error({ job: jobOf(key), err: error }, `a run of the job ${jobOf(key)} could not be seen through`);
      } finally {
        this.#live.delete(key);
      }
    });
    this.#live.set(key, { ended });
  }

  async #work(id: string, job: JobSettings, key: string): Promise<void> {
    const facts = { job: id, run: key };
    this.#ctx.events.publish({ kind: "status", type: "cron:started", summary: `the job ${id} has started`, agentId: job.agent, data: facts });
    if (job.workflow !== undefined) return this.#end(key, await startWorkflow(this.#ctx, job.workflow, (await this.#book.get(key)) ?? { job: id }, key));
    if (job.command === undefined) return this.#end(key, await this.#ask(id, job, key));
    const folder = this.#ctx.files.under(".").roots[0] ?? ".";
    return this.#end(key, await runCommand(this.#ctx.spawn, job, folder, this.#ending.signal));
  }

  /** Asks the agent. Rejects while the plugin or the daemon ends: what became of it is found out at the next start. */
  async #ask(id: string, job: JobSettings, key: string): Promise<Outcome> {
    let taskId: string;
    try {
      ({ taskId } = await this.#ctx.tasks.accept(messageOf(id, job, key)));
    } catch (error) {
      return codeOf(error) === "SVC_DAEMON_DRAINING"
        ? { status: "interrupted", error: reasonOf(error) }
        : { status: "failed", error: reasonOf(error), errorKind: "refused" };
    }
    await this.#book.tasked(key, taskId);
    return this.#resultOf(taskId);
  }

  async #resultOf(taskId: string): Promise<Outcome> {
    const { signal } = this.#ending;
    try {
      return outcomeOf(await this.#ctx.tasks.result(taskId, signal));
    } catch (error) {
      // The plugin ends, and the task may go on: its row stays for the next start.
      if (signal.aborted || codeOf(error) === "SVC_DAEMON_DRAINING") throw error;
      return codeOf(error) === "SVC_TASK_UNKNOWN" ? LEFT : { status: "failed", error: reasonOf(error) };
    }
  }

  async #end(key: string, outcome: Outcome): Promise<void> {
    const job = this.#jobs()[jobOf(key)];
    // Before the end is stored: a crash in between sends it twice rather than never.
    if (outcome.answer?.trim() && job?.sendAnswer === true && job.notify !== undefined) await this.#send(job, outcome.answer);
    const overlap = this.#overlaps.get(jobOf(key));
    const ended = await this.#book.end(key, outcome, overlap?.run === key ? overlap.count : 0);
    if (overlap?.run === key) this.#overlaps.delete(jobOf(key));
    if (ended === undefined) return;
    const { run, failures } = ended;
    const facts = { job: run.job, run: key, status: run.status, by: run.by, ms: (run.endedAt ?? run.at) - run.at };
    const summary = `the job ${run.job} ended: ${run.status}`;
    this.#ctx.events.publish({
      kind: "status",
      type: `cron:${run.status}`,
      summary,
      agentId: run.agent,
      ...(run.taskId === undefined ? {} : { ref: run.taskId }),
      data: facts,
    });
    this.#ctx.log.info(facts, summary);
    if (run.status === "failed") await this.#draw(key, failures);
    await this.#book.prune(run.job);
  }

  async #send({ agent, notify }: JobSettings, text: string): Promise<void> {
    if (notify === undefined) return;
    const { channel, chatId, accountId } = notify;
    const target = { channel, chat: chatId, ...(accountId === undefined ? {} : { account: accountId }) };
    const sent = await this.#ctx.tasks.deliver({ kind: "proactive", target, text, agent });
    sent.sent.catch((error) => this.#ctx.log.warn({ err: error, channel }, "the answer of a job has not arrived"));
  }

  async #draw(key: string, failures: number): Promise<void> {
    const run = await this.#book.get(key);
    const turnedOff = run === undefined ? false : await drawConsequences(this.#consequences, key, run, failures);
    await this.#book.settled(jobOf(key), key, turnedOff);
  }
}

const LEFT: Outcome = { status: "interrupted", error: "The daemon ended in the middle of it." };

/** There is no job of that id. */
export const unknownJob = (id: string) => svcError("SVC_CRON_UNKNOWN", `There is no job '${id}'; see svc cron list.`, { status: 404 });
