import { codeOf, type Log, put, type Route } from "@svc/sdk";
import type { ScopedStore } from "../../base/state-store.ts";
import type { Task } from "./live-task.ts";
import type { Pipeline } from "./pipeline.ts";
import { type TaskRecord, TRACES } from "./record.ts";
import { defaultRoute, placementOf } from "./routing.ts";

/** The version of a record that has been written once. */
const FIRST_VERSION = 1;

type Foresight = Pick<Pipeline, "deps" | "lanes" | "absence">;

/**
 * The first row of a message whose turn begins as soon as it is stored: lane and agent are free, and the taps of `inbound` and `route` answered at
 * once last time. It has the turn's route and counts the run, so that no second write is needed before the engine begins. Undefined when the turn
 * may have to wait.
 */
export function foreseenRow(record: TaskRecord, { deps: { live, agents }, lanes, absence }: Foresight): (TaskRecord & { route: Route }) | undefined {
  if (lanes.startsAtOnce === undefined || !live().hooks.routesAtOnce) return undefined;
  const route = record.pinned ?? defaultRoute(record.inbound, agents());
  if (route === undefined || !lanes.startsAtOnce(placementOf({ record, front: false, keep: false }, route, agents, absence))) return undefined;
  return { ...record, route, agent: route.agent, conversation: route.conversation, attempts: 1 };
}

/**
 * The predicted turn did not begin: takes the run back out of the stored record. Await it before the message is acknowledged, because a crash
 * while a message waits must not use up a try. Never rejects.
 */
export async function takeBackRun(task: Task, store: Pick<ScopedStore, "note">, log: Pick<Log, "error">): Promise<void> {
  delete task.foreseen;
  try {
    await store.note([put(TRACES, task.record.id, { ...task.record, steps: [] }, FIRST_VERSION)]);
  } catch (error) {
    // A conflict: the task has ended or was dropped meanwhile.
    if (codeOf(error) !== "SVC_STORE_CONFLICT") log.error({ task: task.record.id, err: error }, "the run counted for a waiting task was not taken back");
  }
}
