import { append, type Log, put, remove, type Store } from "@svc/sdk";
import type { StateStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import { createTask, type Task } from "./live-task.ts";
import type { Pipeline } from "./pipeline.ts";
import { type TaskRecord, TRACE_INDEXES, TRACES } from "./record.ts";
import { defaultRoute } from "./routing.ts";
import type { Outcome } from "./run-facts.ts";

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

/** One start of a node; `clean` when its run before that had stopped in good order. */
export interface Start {
  /** Absent in starts from before several nodes could share a store. */
  readonly node?: string;
  readonly at: number;
  readonly clean: boolean;
}

/** The journal of starts. */
export const STARTS = "starts";

/** So many starts of all nodes are looked at. */
const LOOKED_BACK = 200;

/** The mark of a node that runs; without a name the one from before nodes had marks of their own. */
const runningMark = (node?: string): string => (node === undefined ? "running" : `running ${node}`);

/** The latest starts of a node, oldest first. */
async function startsOf(store: Store, node: string): Promise<readonly Start[]> {
  const starts = await store.journal<Start>(STARTS).tail(LOOKED_BACK);
  return starts.map(({ value }) => value).filter((start) => (start.node ?? node) === node);
}

/** The start that is under way, not noted yet: was the run before it ended in good order? */
async function thisStart(store: Store, node: string, now: number): Promise<Start> {
  const marks = store.collection("marks");
  return { node, at: now, clean: ((await marks.get(runningMark(node))) ?? (await marks.get(runningMark()))) === undefined };
}

/** Note a start: from now on the end of this process counts as a crash, unless it is noted too. */
export async function noteStart(store: Store, start: Start): Promise<void> {
  await store.commit([put("marks", runningMark(start.node), { at: start.at }), remove("marks", runningMark()), append(STARTS, start)]);
}

/** The latest start of a node that followed a run which did not end in good order, in Unix milliseconds. */
export async function lastCrash(store: Store, node: string): Promise<number | undefined> {
  return (await startsOf(store, node)).findLast(({ clean }) => !clean)?.at;
}

/** The run of a node ends in good order. */
export async function noteStop(store: Store, node: string): Promise<void> {
  await store.commit([remove("marks", runningMark(node))]);
}

/** Were there too many starts after a crash within the window? Then resuming pauses: the work itself may be what kills the daemon. */
export function isCrashLoop(starts: readonly Start[], rules: ResumeRules, now: number): boolean {
  const since = now - rules.crashLoop.windowMinutes * 60_000;
  return starts.filter((start) => !start.clean && start.at >= since).length >= rules.crashLoop.restarts;
}

/** What becomes of a task that a restart found unfinished. */
export type Verdict = { readonly resume: true; readonly silent: boolean } | { readonly resume: false; readonly reason: string };

/**
 * Decide for one record. Work that never started only has to be young enough; work that had started must also have tries left.
 * An agent-to-agent run that names the asking agent is resumed whatever its channel. Scheduled jobs never are, begun or only queued: a
 * job is for its minute, and one that runs at most once for it must not run late either. They are recorded as interrupted.
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

/** The other nodes that live, as far as anybody knows: what is in flight with them is theirs. */
async function otherNodes(store: Pick<StateStore, "nodes">, own: string): Promise<ReadonlySet<string | undefined>> {
  const nodes = (await store.nodes?.()) ?? [];
  return new Set(nodes.filter(({ name, state }) => name !== own && (state === "alive" || state === "draining")).map(({ name }) => name));
}

/** The records still in flight, oldest first. */
async function unfinishedTasks(store: Store): Promise<TaskRecord[]> {
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

/** What one sender wrote in one chat and is not resumed for one reason is told in one notice. */
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

/** End stored tasks without running them, and tell their sender once; the row of the first holds the outcome. */
async function closeRecords(pipeline: Pipeline, [first, ...others]: readonly [TaskRecord, ...TaskRecord[]], outcome: Outcome): Promise<void> {
  const { live, agents } = pipeline.deps;
  const closing = (record: TaskRecord): Task => {
    const route = record.route ?? defaultRoute(record.inbound, agents());
    return createTask(route === undefined ? record : { ...record, route, agent: route.agent }, live());
  };
  const lead = closing(first);
  await pipeline.inRoot(lead, () => pipeline.finish([lead, ...others.map(closing)], outcome));
}

/** What becomes of the work that an earlier run left in flight. */
export interface Recovery {
  /** The start that is under way, for `noteStart`. */
  readonly start: Start;
  /** Tasks put back to work. */
  readonly resumed: number;
  /** Close the others as interrupted, with word to their senders, once their channels are up. Answers how many these were. */
  report(): Promise<number>;
}

/**
 * Put each unfinished record that may be resumed back to work in the old order. Called before anything else can hand work over, so that
 * nothing overtakes it; after `report` none is left in flight without a task behind it.
 */
export async function recover(
  { core, store, pipeline }: { readonly core: Store; readonly store: Pick<StateStore, "nodes">; readonly pipeline: Pipeline },
  rules: ResumeRules,
  bus: Bus,
  log: Log,
  now: () => number,
): Promise<Recovery> {
  const { node } = pipeline.deps;
  const others = await otherNodes(store, node);
  // A plugin may have handed something over in its setup.
  const unfinished = (await unfinishedTasks(core)).filter(({ id, owner }) => !others.has(owner) && pipeline.tasks.get(id) === undefined);
  const start = await thisStart(core, node, now());
  const earlier = await startsOf(core, node);
  const crashLoop = isCrashLoop([...earlier, start], rules, now());
  const refused: Refused[] = [];
  for (const record of unfinished) {
    const verdict = judgeRecord(record, rules, crashLoop, now());
    if (!verdict.resume) {
      refused.push({ record, reason: verdict.reason });
      continue;
    }
    const steps =
      record.attempts === 0
        ? record.steps
        : [...record.steps, { name: "restart", kind: "prepare" as const, at: now(), error: "interrupted by a restart and resumed" }];
    pipeline.readmit({ ...record, steps, inbound: { ...record.inbound, attempts: record.attempts }, ...(verdict.silent ? { silent: true } : {}) });
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
      for (const { records, reason } of byNotice(refused)) {
        await closeRecords(pipeline, records, {
          status: "error",
          reply: "",
          error: `interrupted by a restart; not resumed because ${reason}`,
          errorKind: "interrupted",
        });
      }
      return refused.length;
    },
  };
}
