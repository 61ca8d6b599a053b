import { codeOf, type Op, type PluginContext, remove, type Store } from "@svc/sdk";
import { TASK_INDEXES } from "../tasks/task-row.ts";
import { DEFINITIONS, ENTRIES, KEYS, ofRun, RUNS, type RunRooms, STEPS, TASKS, VALUES } from "./run-rows.ts";
import { entryKeyOf, startKeyOf } from "./starts.ts";

/** Ended runs are kept this long. */
const KEPT_MS = 90 * 86_400_000;
const PAGE = 50;
const OPS = 500;

/** Removes runs that ended long ago with all that belongs to them, and definitions that no run executes any more. */
export async function sweepRuns(ctx: Pick<PluginContext, "store" | "signal" | "log">, rooms: RunRooms, now = Date.now()): Promise<number> {
  let swept = 0;
  for (;;) {
    const page = await rooms.runs.list({ by: "endedAt", to: now - KEPT_MS, limit: PAGE });
    for (const { key, value } of page) {
      if (ctx.signal.aborted) return swept;
      await forgetRun(ctx.store, rooms, key, value.workflow);
      swept += 1;
    }
    if (page.length < PAGE) break;
  }
  for (let after: string | undefined; ; ) {
    const page = await rooms.definitions.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { key, version } of page) {
      if ((await rooms.runs.count({ where: { hash: key } })) > 0) continue;
      // A run that was started in between has written it anew.
      await ctx.store.commit([remove(DEFINITIONS, key, version)]).catch((error) => {
        if (codeOf(error) !== "SVC_STORE_CONFLICT") throw error;
      });
    }
    after = page.at(-1)?.key;
    if (page.length < PAGE) return swept;
  }
}

/** By the tasks themselves: a step may have had several, an incident for each series of attempts, and its row names the last one. */
async function tasksOf(store: Store, runId: string): Promise<readonly string[]> {
  const tasks = store.collection(TASKS, { indexes: TASK_INDEXES });
  const ids: string[] = [];
  for (;;) {
    const after = ids.at(-1);
    const page = await tasks.list({ where: { run: runId }, limit: OPS, ...(after === undefined ? {} : { after }) });
    ids.push(...page.map(({ key }) => key));
    if (page.length < OPS) return ids;
  }
}

/** The row of the run goes last: a stop in between leaves it to be swept again. */
async function forgetRun(store: Store, rooms: RunRooms, runId: string, workflow: string): Promise<void> {
  const gone: Op[] = [];
  const drop = async (op: Op) => {
    gone.push(op);
    if (gone.length >= OPS) await store.commit(gone.splice(0));
  };
  for (const taskId of await tasksOf(store, runId)) await drop(remove(TASKS, taskId));
  for (const [name, collection] of [
    [ENTRIES, rooms.entries],
    [STEPS, rooms.steps],
    [VALUES, rooms.values],
  ] as const) {
    for await (const { key } of ofRun<unknown>(collection, runId)) await drop(remove(name, key));
  }
  const run = (await rooms.runs.get(runId))?.value;
  const { startKey, entry } = run?.state ?? {};
  const keys = [...(startKey === undefined ? [] : [startKeyOf(workflow, startKey)]), ...(entry?.ref === undefined ? [] : [entryKeyOf(workflow, entry.ref)])];
  // A reference may meanwhile stand for a later run.
  for (const key of keys) if ((await rooms.keys.get(key))?.value.runId === runId) await drop(remove(KEYS, key));
  await store.commit([...gone, remove(RUNS, runId)]);
}
