import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Traces } from "@svc/sdk";
import type { AgentTable } from "./agents.ts";
import type { Bus } from "./bus/index.ts";
import type { PoolLimits } from "./capabilities/warm.ts";
import { createActions } from "./flow/actions.ts";
import { createDeliveries } from "./flow/deliver/index.ts";
import type { Deliveries } from "./flow/deliver/port.ts";
import type { Pipeline } from "./flow/doors.ts";
import { createPipeline } from "./flow/pipeline.ts";
import { type TaskRecord, TRACE_INDEXES, TRACES } from "./flow/record.ts";
import { createTraces } from "./flow/traces.ts";
import type { Services } from "./host/context.ts";
import type { Host } from "./host/host.ts";
import { scopedJobs } from "./jobs.ts";
import type { RootLog } from "./log.ts";
import { createSchedule, type Schedule } from "./schedule/index.ts";
import { createLender, type Lender } from "./services.ts";
import type { FolderLock, KernelStore, ScopedStore } from "./store/index.ts";
import { claimMinute, noteMissed } from "./upkeep.ts";

/** What exists between `start` and `stop`. */
export interface Rooms {
  readonly store: KernelStore;
  readonly core: ScopedStore;
  readonly lock: FolderLock | undefined;
  readonly schedule: Schedule;
  readonly lender: Lender;
  readonly deliveries: Deliveries;
  readonly pipeline: Pipeline;
  readonly traces: Traces;
  readonly services: Services;
}

/** What the rooms stand on; functions are asked when their answer matters, so that a reload counts at once. */
export interface RoomsGround {
  readonly node: { readonly id: string; readonly name: string };
  readonly env: NodeJS.ProcessEnv;
  /** Holds what plugins write; marks the daemon's children. */
  readonly dataFolder: string;
  readonly bus: Bus;
  readonly log: RootLog;
  readonly host: Host;
  readonly now: () => number;
  readonly provideServer: Services["server"];
  config(): Readonly<Record<string, unknown>>;
  agents(): AgentTable;
}

/** Build everything that needs the store, in the order in which one stands on the other. */
export function buildRooms(ground: RoomsGround, store: KernelStore, lock: FolderLock | undefined): Rooms {
  const { env, dataFolder, bus, log, host, now } = ground;
  const core = store.scope("core");
  core.collection(TRACES, { indexes: TRACE_INDEXES });
  core.collection("dedup", { indexes: ["at"] });
  const live = () => host.live;
  const schedule = createSchedule({
    claim: (job, minute) => claimMinute(core, job, minute, now()),
    onMissed(job, from, to) {
      const missed = { job, from: from.toISOString(), to: to.toISOString(), at: now() };
      noteMissed(core, missed).catch((error) => log.error({ err: error, ...missed }, "missed minutes were not recorded"));
      bus.publish({
        kind: "status",
        type: "status",
        summary: `${job}: minutes were missed and are not made up for`,
        data: { state: "minutes-missed", ...missed },
      });
    },
    log: log.child("schedule"),
    now,
  });
  const lender = createLender({
    env,
    log,
    core,
    marker: createHash("sha256").update(dataFolder).digest("hex").slice(0, 16),
    processPool: () => ground.config().processPool as PoolLimits,
  });
  const deliveries = createDeliveries({ store: core, live, render: () => lender.render(), bus, log: log.child("deliver"), now });
  const pipeline = createPipeline({ store: core, bus, deliveries, log: log.child("flow"), now, live, agents: ground.agents, failed: host.failed });
  const actions = createActions({ store: core, bus, log: log.child("actions"), now, live, task: pipeline.find, failed: host.failed });
  const records = core.collection<TaskRecord>(TRACES, { indexes: TRACE_INDEXES });
  const traces = createTraces(records);
  const services: Services = {
    node: ground.node,
    env,
    bus,
    tasks: pipeline,
    agents: { get: (id) => ground.agents().get(id), list: () => ground.agents().list() },
    traces,
    actions,
    log: (id) => log.child(id),
    store: (id) => store.scope(id),
    jobs: (scope) => scopedJobs(scope, schedule, host.failed),
    files: (id) => lender.files(join(dataFolder, "plugins", id), dataFolder),
    fetch: () => lender.fetch(),
    spawn: (scope) => lender.spawn(scope),
    warm: (scope) => lender.warm(scope),
    models: () => lender.models(),
    render: () => lender.render(),
    ensure: (capabilities) => lender.ensure(capabilities),
    claim: host.claim,
    server: ground.provideServer,
    channelState: (channel) => deliveries.channelState(channel),
    failed: (scope, what, error) => host.failed(scope, what, error),
  };
  return { store, core, lock, schedule, lender, deliveries, pipeline, traces, services };
}
