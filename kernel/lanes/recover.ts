import type { Store } from "@svc/sdk";
import { createTask, type Task } from "../core/flow/live-task.ts";
import type { Pipeline } from "../core/flow/pipeline.ts";
import { type TaskRecord, TRACE_INDEXES, TRACES } from "../core/flow/record.ts";
import { defaultRoute } from "../core/flow/routing.ts";
import type { Outcome } from "../core/flow/run-facts.ts";
import { type Start, startsOf, thisStart } from "../core/flow/starts.ts";
import type { Recovery, RecoveryDeps } from "../core/flow/work.ts";

/** `resume` of svc.json (001:L212). */
export interface ResumeRules {
  readonly enabled: boolean;
  readonly maxAgeMinutes: number;
  readonly maxAttempts: number;
  readonly reportOnlyChannels: readonly string[];
  readonly directChannels: readonly string[];
  readonly crashLoop: { readonly restarts: number; readonly windowMinutes: number };
}

/** The section `resume`, with its defaults. */
export function readResume(config: Record<string, unknown>): ResumeRules {
  const raw = (config.resume ?? {}) as Partial<ResumeRules> & { crashLoop?: Partial<ResumeRules["crashLoop"]> };
  return {
    enabled: raw.enabled ?? true,
    maxAgeMinutes: raw.maxAgeMinutes ?? 30,
    maxAttempts: raw.maxAttempts ?? 1,
    reportOnlyChannels: raw.reportOnlyChannels ?? [],
    directChannels: raw.directChannels ?? [],
    crashLoop: { restarts: raw.crashLoop?.restarts ?? 3, windowMinutes: raw.crashLoop?.windowMinutes ?? 10 },
  };
}

/** Whether there were too many starts after a crash within the window. Then resuming pauses: the work itself may be the cause of the crashes. */
export function isCrashLoop(starts: readonly Start[], rules: ResumeRules, now: number): boolean {
  const since = now - rules.crashLoop.windowMinutes * 60_000;
  return starts.filter((start) => !start.clean && start.at >= since).length >= rules.crashLoop.restarts;
}

/** Decision about a task that a restart found unfinished. */
export type Verdict = { readonly resume: true; readonly silent: boolean } | { readonly resume: false; readonly reason: string };

/**
 * Decides for one record. Work that never started only has to be young enough; work that had started must also have tries left. An agent-to-agent run
 * that names the asking agent is resumed on any channel. Scheduled jobs never are, begun or only queued: a job is for its minute, and one that runs
 * at most once for it must not run late either. They are recorded as interrupted.
 */
export function judgeRecord(record: TaskRecord, rules: ResumeRules, crashLoop: boolean, now: number): Verdict {
  const { inbound, attempts } = record;
  const no = (reason: string): Verdict => ({ resume: false, reason });
  if (inbound.options?.scheduled) return no(attempts === 0 ? "it had not begun, and scheduled jobs are not resumed" : "scheduled jobs are not resumed");
  if (crashLoop) return no("resuming is paused after repeated crashes");
  if (attempts > rules.maxAttempts) return no(`it was interrupted ${attempts} times`);
  if (attempts > 0 && !rules.enabled) return no("resume is switched off");
  if (inbound.options?.askedBy !== undefined) return { resume: true, silent: false };
  if (now - inbound.at > rules.maxAgeMinutes * 60_000) return no(`it is older than ${rules.maxAgeMinutes} minutes`);
  if (attempts > 0 && rules.reportOnlyChannels.includes(inbound.channel)) return no(`${inbound.channel} is listed in resume.reportOnlyChannels`);
  return { resume: true, silent: rules.directChannels.includes(inbound.channel) };
}

/** The records still in flight, oldest first. */
export async function unfinishedTasks(store: Store): Promise<TaskRecord[]> {
  const records = store.collection<TaskRecord>(TRACES, { indexes: TRACE_INDEXES });
  const unfinished: TaskRecord[] = [];
  for (let after: string | undefined; ; ) {
    const page = await records.list({ where: { status: "in-flight" }, limit: 500, ...(after === undefined ? {} : { after }) });
    unfinished.push(...page.map(({ value }) => value));
    after = page.at(-1)?.key;
    if (page.length < 500) return unfinished;
  }
}

interface Refused {
  readonly record: TaskRecord;
  readonly reason: string;
}

/** Groups refusals: messages of one sender in one chat, refused for the same reason, share one notice. */
function byNotice(refused: readonly Refused[]): { readonly records: readonly [TaskRecord, ...TaskRecord[]]; readonly reason: string }[] {
  const groups = new Map<string, { readonly records: [TaskRecord, ...TaskRecord[]]; readonly reason: string }>();
  for (const { record, reason } of refused) {
    const { id, entry, channel, account, chat, thread, sender, agent, options } = record.inbound;
    const together = entry === "channel" && options?.scheduled !== true;
    const key = together ? JSON.stringify([channel, account, chat, thread, sender?.id, agent, record.agent, reason]) : id;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { records: [record], reason });
    else group.records.push(record);
  }
  return [...groups.values()];
}

/** Ends stored tasks without running them, and notifies their sender once; the row of the first holds the outcome. */
export async function closeRecords(pipeline: Pipeline, [first, ...others]: readonly [TaskRecord, ...TaskRecord[]], outcome: Outcome): Promise<void> {
  const { live, agents } = pipeline.deps;
  const closing = (record: TaskRecord): Task => {
    const route = record.route ?? defaultRoute(record.inbound, agents());
    return createTask(route === undefined ? record : { ...record, route, agent: route.agent }, live());
  };
  const lead = closing(first);
  await pipeline.inRoot(lead, () => pipeline.finish([lead, ...others.map(closing)], outcome));
}

/** The outcome of work that an earlier run left and that is not taken up. */
export const notResumed = (reason: string): Outcome => ({
  status: "error",
  reply: "",
  error: `interrupted by a restart; not resumed because ${reason}`,
  errorKind: "interrupted",
});

/** Returns the record for resuming; `step` explains in its trace what happened to an interrupted run. */
export function takenUp(record: TaskRecord, silent: boolean, now: number, step = "restart", error = "interrupted by a restart and resumed"): TaskRecord {
  const steps = record.attempts === 0 ? record.steps : [...record.steps, { name: step, kind: "prepare" as const, at: now, error }];
  return { ...record, steps, inbound: { ...record.inbound, attempts: record.attempts }, ...(silent ? { silent: true } : {}) };
}

/** Lanes that outlive the process: their remaining entries are not queued again, and are checked by the daemon that claims them. */
export interface LastingLanes {
  /** Sets the function that decides about stored records; `own` are those of this node. */
  judgeBy(judge: (record: TaskRecord, own: boolean) => Verdict): void;
  /** Returns the records that this node has to resume or close, and which of them are in a lane. */
  own(records: readonly TaskRecord[]): Promise<readonly { readonly record: TaskRecord; readonly kept: boolean }[]>;
  /** Adds a resumed record that waits in its lane to this node's tasks. */
  keep(record: TaskRecord): void;
  /** Removes a record that is not resumed from its lane. Returns false if a worker holds it. */
  takeOut(id: string): Promise<boolean>;
}

/**
 * Requeues each unfinished record that may be resumed, in the old order. Called before any other source can submit work, so that nothing overtakes
 * it; after `report` no record is in flight without a task.
 */
export async function recover({ core, pipeline, config, bus, log, now }: RecoveryDeps, lasting?: LastingLanes): Promise<Recovery> {
  const { node } = pipeline.deps;
  const rules = readResume(config());
  const start = await thisStart(core, node, now());
  const crashLoop = isCrashLoop([...(await startsOf(core, node)), start], rules, now());
  lasting?.judgeBy((record, own) => judgeRecord(record, readResume(config()), crashLoop && own, now()));
  // A plugin may have submitted a message in its setup.
  const records = (await unfinishedTasks(core)).filter(({ id }) => pipeline.tasks.get(id) === undefined);
  const unfinished = (await lasting?.own(records)) ?? records.map((record) => ({ record, kept: false }));
  const refused: Refused[] = [];
  for (const { record, kept } of unfinished) {
    const verdict = judgeRecord(record, rules, crashLoop, now());
    if (!verdict.resume) {
      if (!kept || (await lasting?.takeOut(record.id)) === true) refused.push({ record, reason: verdict.reason });
    } else if (kept) lasting?.keep(takenUp(record, verdict.silent, now()));
    else pipeline.readmit(takenUp(record, verdict.silent, now()));
  }
  return {
    start,
    resumed: unfinished.length - refused.length,
    async report() {
      if (crashLoop && unfinished.length > 0) {
        log.warn({ tasks: unfinished.length }, "repeated crashes: resuming is paused, unfinished work is reported instead");
        bus.publish({
          kind: "status",
          type: "status",
          summary: `resuming is paused after repeated crashes; ${unfinished.length} tasks reported`,
          data: { state: "resume-paused" },
        });
      }
      for (const { record, reason } of refused) log.warn({ task: record.id, agent: record.agent }, `interrupted work is not resumed: ${reason}`);
      for (const { records: together, reason } of byNotice(refused)) await closeRecords(pipeline, together, notResumed(reason));
      return refused.length;
    },
  };
}
