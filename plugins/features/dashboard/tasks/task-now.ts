import type { Agent, PluginContext, RunningTask, Trace, TraceStep } from "@svc/sdk";
import { rowOf, shortened, type TaskRow, workingOf } from "./task-row.ts";

/** A task that runs or waits, with its newest steps. */
export interface TaskNow extends TaskRow {
  /** Current step: a preparation step's name, `agent`, `waiting`, `queued`. */
  readonly step: string;
  readonly conversation: string;
  readonly steps: readonly Pick<TraceStep, "name" | "kind" | "at" | "durationMs" | "error" | "input">[];
  /** Steps before those. */
  readonly more: number;
  /** Reason of a wait: `conversation`, `slot <its place in the queue>`, or the reason of a parked turn. */
  readonly waits?: string;
  /** Tasks whose messages its turn answers, too. */
  readonly with?: readonly string[];
}

/** Present activity. */
export interface TasksNow {
  readonly running: readonly TaskNow[];
  readonly queued: readonly TaskNow[];
  /** Turns that may run side by side, over all agents. */
  readonly slots: number;
  /** The newest tasks that have ended. */
  readonly ended: readonly TaskRow[];
}

/** An agent as the live page shows it. */
export interface AgentNow {
  readonly id: string;
  readonly name: string;
  readonly tier: string;
  readonly model?: string;
  readonly access: Agent["access"];
  readonly running: number;
  readonly queued: number;
  /** Its newest task: when it was last busy, and whether its engine failed. */
  readonly last?: Pick<TaskRow, "id" | "state" | "startedAt" | "durationMs" | "error" | "errorKind">;
  /** The newest task failed because its engine cannot be used. */
  readonly broken?: string;
  /** A session on this machine wears it. */
  readonly attached?: { readonly mode: string; readonly program: string };
}

const STEPS = 3;
const TEXT = 600;
const INPUT = 160;
const ENDED = 40;
/** Failures that the next task will meet as well, until somebody changes something. */
const LASTING: ReadonlySet<string> = new Set(["no-key", "no-endpoint", "no-model", "auth", "billing", "program", "SVC_TIER_MISSING", "SVC_AGENT_UNUSABLE"]);

type Sources = Pick<PluginContext, "agents" | "tasks" | "traces" | "services">;

/** Returns running tasks, waiting ones with their reason, and those that have just ended. */
export async function tasksNow({ agents, tasks, traces }: Sources): Promise<TasksNow> {
  const [running, queued] = [tasks.running(), tasks.queued()];
  const working = workingOf(running, queued);
  const [newest, ...found] = await Promise.all([traces.list({ limit: ENDED }), ...[...running, ...queued].map(({ id }) => traces.get(id))]);
  const busy = new Set(running.map(({ conversation }) => conversation));
  const ahead = new Map<string, number>();
  const shown = [...running, ...queued].map((task, at): TaskNow => {
    const place = (ahead.get(task.agent) ?? 0) + 1;
    if (at >= running.length) ahead.set(task.agent, place);
    return nowOf(task, found[at], working.get(task.id), at < running.length ? undefined : waitsFor(task, busy, place));
  });
  return {
    running: shown.slice(0, running.length),
    queued: shown.slice(running.length),
    slots: agents.list().reduce((sum, { settings }) => sum + (typeof settings.maxConcurrent === "number" ? settings.maxConcurrent : 1), 0),
    ended: newest.filter(({ status }) => status !== "in-flight").map((trace) => rowOf(trace)),
  };
}

function waitsFor({ conversation }: RunningTask, busy: ReadonlySet<string>, place: number): string {
  return busy.has(conversation) ? "conversation" : `slot ${place}`;
}

function nowOf(task: RunningTask, trace: Trace | undefined, working: "running" | "waiting" | "queued" | undefined, waits: string | undefined): TaskNow {
  const { id, agent, channel, chat, startedAt, step, conversation, with: others } = task;
  const steps = trace?.steps ?? [];
  const row = trace === undefined ? { id, agent, channel, chat, startedAt, state: working ?? ("queued" as const), text: "", entry: "" } : rowOf(trace, working);
  const parked = step === "waiting" ? steps.findLast(({ name }) => name === "waiting")?.output : undefined;
  return {
    ...row,
    text: shortened(trace?.message ?? "", TEXT),
    step,
    conversation,
    steps: steps.slice(-STEPS).map(({ name, kind, at, durationMs, error, input }) => ({
      name,
      kind,
      at,
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(error === undefined ? {} : { error: shortened(error, INPUT) }),
      ...(input === undefined ? {} : { input: shortened(input, INPUT) }),
    })),
    more: Math.max(0, steps.length - STEPS),
    ...(waits === undefined ? (parked === undefined ? {} : { waits: parked }) : { waits }),
    ...(others === undefined ? {} : { with: others }),
  };
}

/** Every agent with its presence. */
export async function agentsNow({ agents, tasks, traces, services }: Sources): Promise<readonly AgentNow[]> {
  const count = (list: readonly RunningTask[]) => {
    const counts = new Map<string, number>();
    for (const { agent, node } of list) if (node === undefined) counts.set(agent, (counts.get(agent) ?? 0) + 1);
    return counts;
  };
  const [running, queued] = [count(tasks.running()), count(tasks.queued())];
  const worn = new Map(
    (
      await services
        .get("attachments")
        ?.list()
        .catch(() => [])
    )?.map((session) => [session.agent, session]),
  );
  return Promise.all(
    agents.list().map(async ({ id, name, tier, model, access }): Promise<AgentNow> => {
      const [trace] = await traces.list({ agent: id, limit: 1 });
      const last = trace === undefined ? undefined : rowOf(trace);
      const attached = worn.get(id);
      return {
        id,
        name,
        tier,
        ...(model === undefined ? {} : { model }),
        access,
        running: running.get(id) ?? 0,
        queued: queued.get(id) ?? 0,
        ...(last === undefined ? {} : { last: lastOf(last) }),
        ...(last?.errorKind !== undefined && LASTING.has(last.errorKind) ? { broken: last.error ?? last.errorKind } : {}),
        ...(attached === undefined ? {} : { attached: { mode: attached.mode, program: attached.program } }),
      };
    }),
  );
}

const lastOf = ({ id, state, startedAt, durationMs, error, errorKind }: TaskRow): NonNullable<AgentNow["last"]> => ({
  id,
  state,
  startedAt,
  ...(durationMs === undefined ? {} : { durationMs }),
  ...(error === undefined ? {} : { error }),
  ...(errorKind === undefined ? {} : { errorKind }),
});
