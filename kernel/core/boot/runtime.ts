import { AsyncResource } from "node:async_hooks";
import { join, resolve } from "node:path";
import type { DaemonHealth, Settings, Traces } from "@svc/sdk";
import { endingStore } from "@svc/sdk/host";
import type { ChannelRender } from "../../base/channel-render.ts";
import { pluginLog } from "../../base/log-facts.ts";
import { protectedFiles, realOf } from "../../base/protected-files.ts";
import type { ScopedStore, StateStore } from "../../base/state-store.ts";
import type { KernelTools } from "../flow/actions-port.ts";
import type { Deliveries } from "../flow/deliveries-port.ts";
import { createTurnMedia, MEDIA_FOLDER } from "../flow/media-port.ts";
import { Pipeline } from "../flow/pipeline.ts";
import { TRACE_INDEXES, TRACES } from "../flow/record.ts";
import { tasksOf } from "../flow/tasks-api.ts";
import { createTraces } from "../flow/traces.ts";
import type { WorkPart } from "../flow/work.ts";
import { type Capabilities, createCapabilities, lazily } from "../host/capabilities.ts";
import { type ContextDeps, pluginScope } from "../host/context.ts";
import { scopedJobs } from "../host/plugin-jobs.ts";
import { createScope } from "../host/scope.ts";
import type { Assembly } from "./assembly.ts";
import type { HttpServing } from "./http-port.ts";
import type { KernelTasks, ReloadReport } from "./kernel-api.ts";
import type { CoreOptions } from "./options.ts";
import type { JobBook, Schedule } from "./schedule-port.ts";
import type { SettingsAsker } from "./settings-port.ts";

/** Parts that exist between `start` and `stop`. */
export interface Runtime {
  readonly store: StateStore;
  readonly core: ScopedStore;
  readonly schedule: Schedule;
  readonly jobBook: JobBook;
  readonly capabilities: Capabilities;
  readonly deliveries: Deliveries;
  readonly pipeline: Pipeline;
  readonly tasks: KernelTasks;
  readonly traces: Traces;
  readonly tools: KernelTools;
  readonly contexts: ContextDeps;
  /** Ends the schedule and the plugins' use of capabilities. The store stays open. */
  close(): Promise<void>;
}

/** Dependencies of the runtime beside the static parts of the kernel. */
export interface RuntimeDeps {
  readonly assembly: Assembly;
  readonly store: StateStore;
  /** Default: that of a daemon that is alone with its state. */
  readonly work?: WorkPart;
  readonly http: Pick<HttpServing, "address" | "provide" | "requireServable" | "serveFile">;
  readonly health: () => Omit<DaemonHealth, "channels" | "listens" | "storeBytes">;
  readonly reload: () => Promise<ReloadReport>;
  readonly offered?: CoreOptions["offered"];
}

/** Builds everything that needs the store, in the order of its dependencies. */
export function buildRuntime({ assembly, store, work = assembly.parts.work, http, health, reload, offered }: RuntimeDeps): Runtime {
  const { bus, log, host, now, settings, parts } = assembly;
  const { env, configFile, folder, stateFolder: dataFolder } = assembly.locations;
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  core.collection("dedup", { indexes: ["at"] });
  const live = () => host.live;
  const { schedule, book: jobBook } = parts.schedule.createJobs({
    node: assembly.node.id,
    store: core,
    log: log.child("schedule"),
    bus,
    now: store.time ?? now,
    nodes: store.nodes,
  });
  const files = { dataFolder, folder, ...(configFile === undefined ? {} : { configFile }) };
  // Files received through a channel may be sent on.
  const mayLeave = (path: string) => ["plugins", MEDIA_FOLDER].some((own) => !protectedFiles(files, join(dataFolder, own)).holds(realOf(resolve(path))));
  const kernel = pluginScope(
    createScope("feature-kernel", () => {}),
    () => {},
  );
  const deliveries = parts.delivery.createDeliveries({
    store: core,
    live,
    render: () => capabilities.make("render", kernel) as ChannelRender,
    bus,
    log: log.child("deliver"),
    now: store.steady,
    mayLeave,
  });
  const { failed } = host;
  const media = createTurnMedia(parts.media, { dataFolder, log: log.child("media") });
  const pipeline = new Pipeline({
    node: assembly.node.id,
    store: core,
    bus,
    deliveries,
    createWork: (worker, of) => work.createWork(worker, of, store),
    media,
    log: log.child("flow"),
    now,
    live,
    agents: () => settings.agents,
    failed,
  });
  const tasks = tasksOf(pipeline);
  const actions = parts.actions.createActions({ store: core, bus, log: log.child("actions"), now, live, task: (id) => pipeline.tasks.record(id), failed });
  const tools = lazily<KernelTools>({ list: true, run: true, caller: true }, async () =>
    (await parts.actions.tools()).createTools({ tasks: pipeline.tasks, records: core.collection(TRACES), bus, live, failed }),
  );
  const traces = createTraces(core, (id) => pipeline.tasks.get(id)?.record);
  const capabilities = createCapabilities(
    parts.capabilities.rows,
    { env, log, store: core, files, config: () => settings.value },
    {
      bus,
      tasks,
      agents: settings.directory,
      traces,
      actions,
      tools,
      health: Object.assign(() => assembly.status.lentHealth(health(), live(), http.address, store.diskBytes()), {
        nodes: async () => (await store.nodes?.()) ?? [],
      }),
      store: ({ id, signal }) => endingStore(store.scope(id), signal, log.child(id)),
      jobs: (scope) => scopedJobs(scope, schedule, jobBook, failed),
      service: host.service,
      settings: () => (editing ??= openSettings()),
      live,
      failed,
    },
  );
  // A reload runs outside every plugin's scope, even if a plugin's change caused it.
  const outside = new AsyncResource("svc.settings");
  let editing: Promise<(asker: SettingsAsker) => Settings> | undefined;
  async function openSettings(): Promise<(asker: SettingsAsker) => Settings> {
    const { reopen: open } = assembly.locations;
    const { createSettings } = await assembly.parts.settings();
    return createSettings({ file: configFile, dataFolder, host, log, bus, open, offered, reload: () => outside.runInAsyncScope(reload) });
  }
  const contexts: ContextDeps = {
    node: assembly.node,
    env,
    capabilities,
    log: (plugin) => pluginLog(log.child(plugin)),
    claim: host.claim,
    tokenScopes: host.tokenScopes,
    requireServable: http.requireServable,
    serveFile: http.serveFile,
    server: http.provide,
    channelState: (channel) => deliveries.channelState(channel),
  };
  const close = async () => {
    schedule.stop();
    await pipeline.lanes.close?.();
    await capabilities.close();
  };
  return { store, core, schedule, jobBook, capabilities, deliveries, pipeline, tasks, traces, tools, contexts, close };
}
