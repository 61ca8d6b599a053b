import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { fail } from "../../base/errors.ts";
import { holderTold, lockFolder, withRoom } from "../../base/folder-lock.ts";
import { ensureInstance } from "../../base/instance.ts";
import { describeProblem } from "../config/configuration.ts";
import { lastCrash, noteStart } from "../flow/starts.ts";
import type { Assembly } from "./assembly.ts";
import type { HttpServing } from "./http-port.ts";
import type { Health, ReloadReport } from "./kernel-api.ts";
import type { Workspaces } from "./maintenance-port.ts";
import { openState } from "./open-state.ts";
import type { CoreOptions } from "./options.ts";
import { buildRuntime, type Runtime } from "./runtime.ts";
import type { StatusEvents } from "./status-port.ts";
import type { UndoList } from "./undo-list.ts";

/** Dependencies of a start, and the callbacks that report its progress. */
export interface BootDeps {
  readonly assembly: Assembly;
  readonly options: CoreOptions;
  readonly http: HttpServing;
  readonly workspaces: Workspaces;
  readonly status: StatusEvents;
  /** Takes each step with its way back; undone as a whole when the start fails, and when the kernel stops. */
  readonly steps: UndoList;
  health(): Health;
  reload(): Promise<ReloadReport>;
  /** The identity of the data folder is known. */
  onInstance(id: string): void;
  /** Tasks can be taken, before they are worked on. */
  onRuntime(runtime: Runtime): void;
  /** State can no longer be kept. */
  onLost(error: Error): void;
}

/** Leftovers of earlier runs that a start found. */
export interface Booted {
  /** The start that followed the latest crash, in Unix milliseconds. */
  readonly crashedAt: number | undefined;
  /** Tasks that were resumed, and tasks that were not and whose senders were notified. */
  readonly resumed: number;
  readonly reported: number;
}

/** Steps 3 to 8 of a kernel's life. Throws the error of the first failing step; `deps.steps` then holds the steps to undo. */
export async function boot(deps: BootDeps): Promise<Booted> {
  const { assembly, options, http, workspaces, status, steps } = deps;
  const { parts, locations, host, node, settings, log, bus, now } = assembly;
  const { dataFolder, folder, onDisk, stateFolder } = locations;

  // 3 open
  if (!onDisk) steps.defer("the temporary folder", () => rm(stateFolder, { recursive: true, force: true }));
  if (onDisk) await holderTold(dataFolder);
  const lock = await steps.step(
    "the lock",
    () => (onDisk ? withRoom(dataFolder, () => openFolder(deps)) : undefined),
    (held) => held?.release(),
  );
  steps.defer("the local secret", http.forget);
  steps.defer("the HTTP server", http.close);
  await http.prepare();
  steps.defer("the store's plugin", () => host.stopStore());
  const store = await steps.step(
    "the store",
    () => openState(assembly, options.store),
    (opened) => opened.close(),
  );
  // Release the leases of an earlier run of this node: the data folder is ours alone.
  await store.reclaim(node.id);
  const work = store.work === undefined ? parts.work : await parts.sharedWork();
  const runtime = await steps.step(
    "the runtime",
    () => buildRuntime({ assembly, http, store, work, health: deps.health, reload: deps.reload, offered: options.offered }),
    (built) => built.close(),
  );
  deps.onRuntime(runtime);
  const looked = await runtime.jobBook.earlier();
  store.onFailure(deps.onLost);
  store.onDrain(() => options.onDrain?.());
  lock?.watch((reason) => deps.onLost(fail("SVC_LOCK_LOST", { reason })));
  // An engine cannot start in a missing folder. An embedded kernel without a data folder creates none.
  const making = onDisk ? workspaces.make(settings.agents.list()) : undefined;
  const { exposures } = await parts.exposures();
  for (const problem of exposures(settings.configuration, dataFolder)) log.warn(describeProblem(problem));

  // 4 set up
  await runtime.capabilities.ensure(host.declared());
  // Plugins receive events until they are stopped.
  let unsubscribe = () => {};
  steps.defer("the hook emit", () => unsubscribe());
  steps.defer("the plugins", () => host.stop());
  await host.setUp(settings.configuration.wanted, runtime.contexts);
  unsubscribe = bus.subscribe((envelope) => host.live.hooks.emit(envelope));
  await making;

  // 5 readmit
  const recovery = await work.recover({ core: runtime.core, pipeline: runtime.pipeline, config: () => settings.value, bus, log, now });
  if (!recovery.start.clean) status.crashed();

  // 6 listen
  if (options.listen) status.listening(await steps.step("the HTTP server", http.listen, http.close));

  // 7 start
  await host.start();
  status.plugins(host.statuses());

  // 8 work A delivery in progress when the kernel stops still has its channel; the others wait in the outbox.
  steps.defer("the outbox", () => runtime.deliveries.stop());
  await runtime.deliveries.start();
  // Closed first: a later request would find everything else closing. Once closed, it is not closed again above.
  steps.defer("the HTTP server", http.close);
  await noteStart(runtime.core, recovery.start);
  runtime.pipeline.open();
  const reported = await recovery.report();
  const crashedAt = await lastCrash(runtime.core, node.id);
  void runtime.schedule.since(looked);
  // Not before the daemon answers: its first look is later still.
  const maintenance = await parts.maintenance();
  const { health } = deps;
  await maintenance.startMaintenance({
    runtime,
    workspaces,
    ...(onDisk ? { folder, dataFolder } : {}),
    log,
    bus,
    now,
    settings,
    health,
    address: () => http.address,
  });
  return { crashedAt, resumed: recovery.resumed, reported };
}

/** The data folder, which one daemon at a time has. Throws `SVC_DAEMON_RUNNING`. */
function openFolder({ assembly: { locations }, onInstance }: BootDeps) {
  const { dataFolder } = locations;
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataFolder);
  try {
    onInstance(ensureInstance(dataFolder));
  } catch (error) {
    lock.release();
    throw error;
  }
  return lock;
}
