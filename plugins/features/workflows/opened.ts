import { type PluginContext, sleep, type WorkflowHead, type Workflows } from "@svc/sdk";
import { type Draft, Drafts } from "./authoring/draft-files.ts";
import { draftFromTask, type TaskDraftQuery } from "./authoring/draft-from-task.ts";
import { foldRuns } from "./authoring/promotion-check.ts";
import { createReplay } from "./authoring/replay.ts";
import { type ReplayQuery, startReplay } from "./authoring/replay-start.ts";
import { inputSchemaOf } from "./definition/definition-views.ts";
import { type Definitions, type Loaded, openDefinitions } from "./definition/definitions.ts";
import { sharedFolder } from "./definition/shared-folder.ts";
import type { Definition } from "./engine/types.ts";
import { roomsOf } from "./runs/run-rows.ts";
import { Runs } from "./runs/runs.ts";
import type { WorkflowsSettings } from "./settings.ts";
import { taskHostOf } from "./tasks/run-host.ts";
import { openTaskRoom } from "./tasks/task-room.ts";
import type { Tasks } from "./tasks/tasks.ts";
import { createExtern } from "./triggers/extern.ts";
import { workflowStarts } from "./triggers/workflow-starts.ts";

/** All of the workflows, once something of them is needed. */
export interface Opened {
  readonly definitions: Definitions;
  readonly drafts: Drafts;
  /** Makes a draft of what a task has done. */
  fromTask(query: TaskDraftQuery): Promise<Draft>;
  /** The newest runs of workflows, and what starts them. */
  starts(workflows: readonly Loaded[], runs: number): ReturnType<typeof workflowStarts>;
  readonly runs: Runs;
  readonly tasks: Tasks;
  /** Runs a definition that is no workflow yet, answered from what was recorded. */
  replay(draft: { readonly definition: Definition; readonly hash: string }, query: ReplayQuery): ReturnType<typeof startReplay>;
  /** Whether the newest completed runs would have gone the same way by this definition. */
  folds(definition: Definition, draft?: string): ReturnType<typeof foldRuns>;
  /** Service that the plugin provides. */
  readonly service: Workflows;
  stop(): Promise<void>;
}

/** Opens definitions, runs and tasks, and takes up what an earlier life of the daemon left. */
export async function openWorkflows(ctx: PluginContext<WorkflowsSettings>, settings: () => WorkflowsSettings): Promise<Opened> {
  const definitions = openDefinitions({
    files: ctx.files,
    dir: settings().dir,
    ...(ctx.store.shared === true ? { share: (folder) => sharedFolder(folder, ctx) } : {}),
    log: ctx.log,
    known: () => ({ agents: new Set(ctx.agents.list().map(({ id }) => id)), actions: new Set(ctx.actions.list().map(({ name }) => name)) }),
  });
  const replay = createReplay(ctx, roomsOf(ctx.store), (runId, row, value) => runs.host.whole(runId, row, value));
  const room = openTaskRoom({ ctx, host: () => taskHostOf(runs), replayed: replay.task });
  const runs: Runs = new Runs({
    ctx,
    definitions,
    tasks: room,
    replay,
    extern: createExtern(ctx.fetch, () => settings().extern),
    ready: () => ready(ctx),
    defaultAgent: () => defaultAgent(ctx),
  });
  const { sync } = definitions.folder;
  if (sync !== undefined) await keepSame(ctx, sync);
  await runs.open();
  await room.start();
  const drafts = new Drafts(definitions);
  return {
    definitions,
    drafts,
    fromTask: (query) => draftFromTask({ traces: ctx.traces, drafts, definitions }, query),
    starts: (workflows, most) => workflowStarts(ctx, runs.rooms, room.collection, workflows, most, settings().matching.enabled),
    runs,
    tasks: room.tasks,
    replay: (draft, query) => startReplay(ctx, runs, replay, draft, query),
    folds: (definition, draft) => foldRuns(runs.rooms, definition, draft),
    service: {
      list: async () => (await definitions.list()).map(headOf),
      start: (id, start) => runs.start(id, start),
      run: (runId) => runs.run(runId),
      signal: (runId, signal) => runs.signal(runId, signal),
      wait: (runId, signal) => runs.wait(runId, signal),
      change: (runId, action, by) => runs.change(runId, action, by),
    },
    async stop() {
      await room.stop();
      await runs.stop();
    },
  };
}

/** Delay until a definition of another daemon on the store appears here. */
const SHARE_MS = 1_000;

async function keepSame({ jobs, log }: Pick<PluginContext, "jobs" | "log">, sync: () => Promise<boolean>): Promise<void> {
  let told = false;
  const again = async () => {
    try {
      await sync();
      told = false;
    } catch (error) {
      if (!told) log.warn({ err: error }, "the workflows of the other daemons are not known here; tried again until they are");
      told = true;
    }
  };
  await again();
  jobs.every(SHARE_MS, again);
}

function headOf({ id, definition, hash, broken }: Loaded): WorkflowHead {
  const { name, description, ownerAgent, tags, match } = definition;
  return {
    id,
    ...(name === undefined ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    ...(ownerAgent === undefined ? {} : { ownerAgent }),
    ...(tags === undefined ? {} : { tags }),
    hash,
    inputSchema: inputSchemaOf(definition),
    ...(match?.phrases === undefined ? {} : { phrases: match.phrases }),
    broken: broken !== undefined,
  };
}

const LOOK_MS = 20;

/** Agents and actions of other plugins are there when all of them run. */
async function ready({ health, signal }: Pick<PluginContext, "health" | "signal">): Promise<void> {
  while (health().state === "starting") await sleep(LOOK_MS, signal);
}

/** The daemon's default agent, or the only one that there is. */
async function defaultAgent({ agents, settings }: Pick<PluginContext, "agents" | "settings">): Promise<string | undefined> {
  // A daemon that is embedded may have no file to read.
  const { document } = await settings.read().catch(() => ({ document: {} as Readonly<Record<string, unknown>> }));
  const { defaultAgent: named } = (document["node"] ?? {}) as { readonly defaultAgent?: unknown };
  const [first, ...others] = agents.list();
  return typeof named === "string" ? named : others.length === 0 ? first?.id : undefined;
}
