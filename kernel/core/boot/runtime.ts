import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import type { DaemonHealth, HttpRoute, Traces } from "@svc/sdk";
import type { FolderLock } from "../../base/folder-lock.ts";
import type { RootLog } from "../../base/log.ts";
import { pluginLog } from "../../base/log-facts.ts";
import { protectedFiles, realOf } from "../../base/protected-files.ts";
import type { Bus } from "../bus/index.ts";
import { createActions } from "../flow/actions.ts";
import type { Deliveries } from "../flow/deliver/deliveries-port.ts";
import { createDeliveries } from "../flow/deliver/index.ts";
import { Pipeline } from "../flow/pipeline.ts";
import { TRACE_INDEXES, TRACES } from "../flow/record.ts";
import { tasksOf } from "../flow/tasks-api.ts";
import { createTraces } from "../flow/traces.ts";
import type { AgentTable } from "../host/agents.ts";
import { createLender, type Lender } from "../host/capabilities.ts";
import type { CapabilityLibraries, PoolLimits } from "../host/capability-libraries.ts";
import type { Services } from "../host/context.ts";
import type { Host } from "../host/host.ts";
import { createSchedule, type Schedule } from "../schedule/index.ts";
import { claimMinute, createJobBook, type JobBook, minutesOf } from "../schedule/job-records.ts";
import { scopedJobs } from "../schedule/plugin-jobs.ts";
import type { KernelTasks } from "./kernel-port.ts";
import type { ScopedStore, StateStore } from "./state-store.ts";

/** What exists between `start` and `stop`. */
export interface Runtime {
  readonly store: StateStore;
  readonly core: ScopedStore;
  readonly lock: FolderLock | undefined;
  readonly schedule: Schedule;
  readonly jobBook: JobBook;
  readonly lender: Lender;
  readonly deliveries: Deliveries;
  readonly pipeline: Pipeline;
  readonly tasks: KernelTasks;
  readonly traces: Traces;
  readonly services: Services;
}

/** What the runtime is built from; functions are asked when their answer matters, so that a reload counts at once. */
export interface RuntimeDeps {
  readonly libraries: CapabilityLibraries;
  readonly node: { readonly id: string; readonly name: string };
  readonly env: NodeJS.ProcessEnv;
  /** Holds what plugins write; marks the daemon's children. */
  readonly dataFolder: string;
  /** Where the configuration is, if it is a file, and the folder that holds it and `.env`. */
  readonly configFile?: string;
  readonly folder: string;
  readonly bus: Bus;
  readonly log: RootLog;
  readonly host: Host;
  readonly now: () => number;
  readonly provideServer: Services["server"];
  readonly health: () => Omit<DaemonHealth, "storeBytes">;
  /** Throws for a route that the server it names cannot serve. */
  requireServable(route: HttpRoute): void;
  config(): Readonly<Record<string, unknown>>;
  agents(): AgentTable;
}

/** So many jobs are named when minutes were missed; all are recorded. */
const MISSED_SHOWN = 20;

/** Build everything that needs the store, in the order in which one stands on the other. */
export function buildRuntime(deps: RuntimeDeps, store: StateStore, lock: FolderLock | undefined): Runtime {
  const { env, dataFolder, bus, log, host, now } = deps;
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  core.collection("dedup", { indexes: ["at"] });
  const live = () => host.live;
  const jobBook = createJobBook(core, log.child("schedule"));
  const schedule = createSchedule({
    claim: (job, minute) => claimMinute(core, job, minute, now()),
    onMissed(missed) {
      jobBook.missed(missed, now()).catch((error) => log.error({ err: error }, "missed minutes were not recorded"));
      const shown = missed.slice(0, MISSED_SHOWN).map(({ job, ...span }) => ({ job, ...minutesOf(span, now()) }));
      const names = shown.map(({ job }) => job).join(", ");
      const summary = `minutes of ${missed.length} jobs were missed and are not made up for: ${names}${missed.length > shown.length ? " ..." : ""}`;
      log.child("schedule").warn({ missed: shown }, summary);
      bus.publish({ kind: "status", type: "status", summary, data: { state: "minutes-missed", jobs: missed.length, missed: shown } });
    },
    onLook: (looked) => jobBook.looked(looked),
    log: log.child("schedule"),
    now,
  });
  const kept = { dataFolder, folder: deps.folder, ...(deps.configFile === undefined ? {} : { configFile: deps.configFile }) };
  const lender = createLender({
    libraries: deps.libraries,
    env,
    log,
    core,
    protected: kept,
    marker: createHash("sha256").update(dataFolder).digest("hex").slice(0, 16),
    processPool: () => deps.config().processPool as PoolLimits,
    providers: () => (deps.config().providers ?? {}) as Readonly<Record<string, unknown>>,
    agent: (id) => deps.agents().get(id),
  });
  // What came in through a channel lies in its plugin's folder and may be sent on.
  const mayLeave = (path: string) => !protectedFiles(kept, join(dataFolder, "plugins")).holds(realOf(resolve(path)));
  const deliveries = createDeliveries({ store: core, live, render: () => lender.render(), bus, log: log.child("deliver"), now: store.steady, mayLeave });
  const pipeline = new Pipeline({ store: core, bus, deliveries, log: log.child("flow"), now, live, agents: deps.agents, failed: host.failed });
  const tasks = tasksOf(pipeline);
  const actions = createActions({ store: core, bus, log: log.child("actions"), now, live, task: (id) => pipeline.tasks.record(id), failed: host.failed });
  const traces = createTraces(core);
  const services: Services = {
    node: deps.node,
    env,
    bus,
    tasks,
    agents: { get: (id) => deps.agents().get(id), list: () => deps.agents().list() },
    traces,
    actions,
    log: (id) => pluginLog(log.child(id)),
    store: (id) => store.scope(id),
    jobs: (scope) => scopedJobs(scope, schedule, jobBook, host.failed),
    files: (id) => lender.files(join(dataFolder, "plugins", id)),
    fetch: (isolated) => lender.fetch(isolated),
    sockets: (scope, section, isolated) => lender.sockets(scope, section, isolated),
    spawn: (scope) => lender.spawn(scope),
    warm: (scope) => lender.warm(scope),
    media: () => lender.media(),
    models: () => lender.models(),
    health: () => ({ ...deps.health(), ...storeSize(store) }),
    render: () => lender.render(),
    ensure: (capabilities) => lender.ensure(capabilities),
    claim: host.claim,
    requireServable: deps.requireServable,
    server: deps.provideServer,
    channelState: (channel) => deliveries.channelState(channel),
    failed: (scope, what, error) => host.failed(scope, what, error),
  };
  return { store, core, lock, schedule, jobBook, lender, deliveries, pipeline, tasks, traces, services };
}

function storeSize(store: StateStore): Pick<DaemonHealth, "storeBytes"> {
  const storeBytes = store.diskBytes();
  return storeBytes === undefined ? {} : { storeBytes };
}
