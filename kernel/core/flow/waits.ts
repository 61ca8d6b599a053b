import { fail } from "../../base/errors.ts";
import { CALL_DEPTH } from "./limits.ts";
import type { Task } from "./live-task.ts";
import type { LiveTasks } from "./live-tasks.ts";
import { laneAgent } from "./routing.ts";
import type { Blocker, Work } from "./work.ts";

/** The task that waits for this one's answer. */
const callerOf = ({ record }: Task): string | undefined => record.inbound.options?.callerTask;

/** Returns the error for a call that must not begin: so many turns above it wait for each other that it can only be an endless recursion between agents. */
export function tooDeep(task: Task, tasks: LiveTasks): Error | undefined {
  let depth = 0;
  for (let id = callerOf(task); id !== undefined; depth += 1) {
    if (depth >= CALL_DEPTH) return fail("SVC_CALL_DEPTH", { agent: task.record.agent, limit: CALL_DEPTH });
    const caller = tasks.get(id);
    id = caller === undefined ? undefined : callerOf(caller);
  }
  return undefined;
}

/**
 * Returns an error if a queued call is in a deadlock: everything it waits for waits, through one or several calls, for a call that is queued like
 * this one. Undefined if one of them can end by itself. A turn cannot end as long as one of its calls cannot.
 */
function deadlock(call: Task, tasks: LiveTasks, blockers: ReadonlyMap<string, Blocker>): Error | undefined {
  const running: Task[] = [];
  const stuck = new Set<Task>();
  const calls = new Map<string, Task[]>();
  for (const task of tasks.all()) {
    if (task.state !== "running" && task.state !== "waiting") continue;
    const caller = callerOf(task);
    if (caller !== undefined) calls.set(caller, [...(calls.get(caller) ?? []), task.lead ?? task]);
    if (task.state === "running" && task.lead === undefined) running.push(task);
    if (task.lead === undefined && (task.state === "running" || caller !== undefined)) stuck.add(task);
  }
  const holders = ({ record: { conversation } }: Task): Task[] => {
    const blocker = blockers.get(conversation);
    if (blocker?.by === "turn") return running.filter(({ record }) => record.conversation === conversation);
    return blocker === undefined ? [] : running.filter(({ record, slot }) => laneAgent(record.route ?? record) === blocker.agent && slot?.state === "held");
  };
  const goesOn = (task: Task): boolean => {
    if (task.state === "running" && (calls.get(task.record.id) ?? []).some((one) => stuck.has(one))) return false;
    if (task.state === "running" && task.slot?.state !== "wanted") return true;
    const waitedFor = holders(task);
    return waitedFor.length === 0 || waitedFor.some((holder) => !stuck.has(holder));
  };
  for (let before = Number.POSITIVE_INFINITY; stuck.size < before; ) {
    before = stuck.size;
    for (const task of stuck) if (goesOn(task)) stuck.delete(task);
  }
  if (!stuck.has(call)) return undefined;
  const { agent } = call.record;
  const names = holders(call).map(({ record }) => `${record.id} of agent ${record.agent}`);
  return fail("SVC_CALL_DEADLOCK", { agent, tasks: names.join(", ") });
}

/** Ends calls that wait for turns which wait for them. */
export interface Deadlocks {
  /** Checks a call that has just been queued. */
  end(call: Task): Promise<void>;
  /** Checks all calls, since a turn waits for its slot again. */
  endAll(): Promise<void>;
}

/** `finish` ends a call that was taken out of its lane. */
export function createDeadlocks(tasks: LiveTasks, work: Pick<Work<Task>, "blockers" | "cancel">, finish: (call: Task, why: Error) => Promise<void>): Deadlocks {
  async function end(call: Task): Promise<void> {
    const why = deadlock(call, tasks, await work.blockers());
    if (why === undefined || call.state !== "waiting") return;
    if ((await work.cancel(call, { kind: "cancelled", text: why.message })) === "removed") await finish(call, why);
  }
  return {
    end,
    async endAll() {
      for (const call of [...tasks.all()]) if (call.state === "waiting" && callerOf(call) !== undefined) await end(call);
    },
  };
}
