import { onAbort, sleep } from "@svc/sdk";
import { bindsSessions } from "@svc/sdk/host";
import type { StateStore } from "../base/state-store.ts";
import type { Task } from "../core/flow/live-task.ts";
import type { Pipeline } from "../core/flow/pipeline.ts";
import type { Work, Worker, WorkPart } from "../core/flow/work.ts";
import { recover } from "./recover.ts";
import { SharedLanes } from "./shared-lanes.ts";
import type { LaneRules } from "./shared-lanes-options.ts";
import { SharedTasks } from "./shared-tasks.ts";

/** A lease is held for as long as its daemon lives; milliseconds until an ended one is requested again. */
const LEASE_MS = 10_000;
const AGAIN_MS = 1_000;

/** The work of one run of a daemon on a state that others may use, too. */
export function sharedWork(): WorkPart {
  let tasks: SharedTasks | undefined;
  return {
    createWork(worker, pipeline, store) {
      const made = createShared(worker, pipeline, store);
      tasks = made.tasks;
      return made.work;
    },
    recover: (deps) => recover(deps, tasks),
  };
}

function createShared(worker: Worker<Task>, pipeline: Pipeline, store: StateStore): { readonly tasks: SharedTasks; readonly work: Work<Task> } {
  const rows = store.work?.("core");
  if (rows === undefined) throw new TypeError("this store has no rows for lanes");
  const { log, node, store: core } = pipeline.deps;
  const tasks = new SharedTasks({ pipeline, store, rows, know: (task) => lanes.know(task), tell: () => store.hints?.tell() });
  const lanes: SharedLanes<Task> = new SharedLanes<Task>({
    rows,
    worker: {
      start(claim) {
        tasks.live.begin(claim);
        worker.start(claim);
      },
      stop: worker.stop.bind(worker),
    },
    log,
    elsewhere: tasks,
    idOf: ({ record }) => record.id,
    load: (id, known) => tasks.load(id, known),
    stored: (task) => tasks.stored(task),
    ended: (task) => tasks.ended(task),
    isHome: (task) => task.record.sessionId !== undefined && staysHere(pipeline, task),
    moved: (task, from) => tasks.moved(task, from !== undefined && staysHere(pipeline, task) ? from : undefined),
    rulesOf: (lane) => rulesOf(pipeline, lane),
    async looked() {
      await tasks.look();
      void tasks.live.look();
    },
    ...(store.hints === undefined ? {} : { hints: store.hints }),
  });
  const ends = new AbortController();

  /** While others may declare this daemon dead, nothing that it does can be undone: its turns end, for another one or to be begun anew. */
  async function watch(): Promise<void> {
    while (!ends.signal.aborted) {
      const lease = await core.lease(`lanes ${node}`, LEASE_MS);
      if (lease.held) await new Promise<void>((resolve) => onAbort(AbortSignal.any([lease.signal, ends.signal]), () => resolve()));
      if (!ends.signal.aborted && lease.held && tasks.shared) {
        const turns = lanes.giveUp();
        log.warn({ turns }, "the other nodes may have taken over from this one, which could not reach the state: what runs here was ended");
      }
      await sleep(AGAIN_MS, ends.signal);
    }
  }
  const again = (): void =>
    void watch().catch(async () => {
      if (ends.signal.aborted) return;
      await sleep(AGAIN_MS, ends.signal).then(again, () => {});
    });
  again();

  const close = lanes.close.bind(lanes);
  lanes.close = async () => {
    ends.abort();
    await Promise.all([tasks.live.close(), close()]);
  };
  return { tasks, work: lanes };
}

/** Whether the agent's engine keeps the conversation on the machine where it runs. */
function staysHere({ deps }: Pipeline, { record, live }: Task): boolean {
  if (record.route?.node !== undefined) return false;
  const settings = deps.agents().settings(record.agent);
  const tier = settings && live.tiers.get(settings.agent.tier)?.thing;
  return tier !== undefined && bindsSessions(tier);
}

/** Returns the current rules of a lane's agent: concurrent turns, over all daemons, and its queue mode. */
function rulesOf({ absence, deps }: Pipeline, lane: string): LaneRules {
  // As `laneAgent` names it: an agent of another node with the name of that node before it.
  const [agent = "", node] = lane.split("/").reverse();
  const settings = deps.agents().settings(agent, node);
  return { limit: absence.slots(lane, settings), mode: settings?.queueMode ?? "collect" };
}
