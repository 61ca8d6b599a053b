import { SDK_VERSION } from "@svc/sdk";
import { drainSeconds } from "../../base/config-text/environment.ts";
import { fail } from "../../base/errors.ts";
import { keepLastGood, readConfiguration } from "../config/configuration.ts";
import { noteStop } from "../flow/starts.ts";
import type { Assembly } from "./assembly.ts";
import { boot } from "./boot.ts";
import type { HttpServing } from "./http-port.ts";
import type { Health, ReloadReport } from "./kernel-api.ts";
import type { MaintenancePart, RestartRequest, Workspaces } from "./maintenance-port.ts";
import type { CoreOptions } from "./options.ts";
import type { Runtime } from "./runtime.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import type { StatusEvents } from "./status-port.ts";
import { UndoList } from "./undo-list.ts";

/** The phase of a kernel's life, with the resources it has in it. */
type Phase =
  | { readonly at: "stopped" }
  | { readonly at: "starting"; readonly runtime: Runtime | undefined }
  | { readonly at: "running"; readonly runtime: Runtime }
  | { readonly at: "leaving"; readonly runtime: Runtime };

/** Dependencies of the lifecycle. */
export interface LifecycleDeps {
  readonly assembly: Assembly;
  readonly options: CoreOptions;
  readonly http: HttpServing;
  readonly maintenance: MaintenancePart;
}

/** The phases of a kernel, and the ways from one to the next. */
export class Lifecycle {
  readonly #assembly: Assembly;
  readonly #options: CoreOptions;
  readonly #http: HttpServing;
  readonly #status: StatusEvents;
  readonly #workspaces: Workspaces;
  readonly #shutdown: Shutdown;
  /** Steps to undo at a stop. */
  readonly #steps: UndoList;
  #phase: Phase = { at: "stopped" };
  #startedAt: number;
  /** Why state can no longer be kept. */
  #fatal: Error | undefined;
  #instance: string | undefined;
  #crashedAt: number | undefined;
  /** The latest start and reload, settled either way. */
  #starting: Promise<unknown> = Promise.resolve();
  #reloading: Promise<unknown> = Promise.resolve();

  constructor({ assembly, options, http, maintenance }: LifecycleDeps) {
    const { settings, log, bus, node, now, locations } = assembly;
    this.#assembly = assembly;
    this.#options = options;
    this.#http = http;
    this.#startedAt = now();
    this.#steps = new UndoList(log);
    this.#status = assembly.status.createStatusEvents(log, bus, node.name);
    this.#workspaces = maintenance.createWorkspaces(log, (problems) => settings.noteWorkspaces(problems));
    this.#shutdown = createShutdown({
      log,
      now,
      config: () => settings.value,
      createRestarts: maintenance.createRestarts,
      runtime: () => this.runtime,
      drainSeconds: (agent) => Math.max(drainSeconds(settings.value, locations.env), settings.agents.settings(agent)?.drainTimeoutSeconds ?? 0),
      enter: (at) => {
        this.#phase = { at, runtime: this.runtime };
      },
      close: () => this.#leave(),
      tell: (summary, data) => bus.publish({ kind: "status", type: "status", summary, data }),
      onRestart: options.onRestart,
    });
  }

  /** The identity of the data folder, once a start has seen it. */
  get instance(): string | undefined {
    return this.#instance;
  }
  /** Returns the runtime between `start` and `stop`. Throws `SVC_KERNEL_STOPPED` outside of that. */
  get runtime(): Runtime {
    const runtime = this.#running;
    if (runtime === undefined) throw fail("SVC_KERNEL_STOPPED");
    return runtime;
  }
  get #running(): Runtime | undefined {
    return this.#phase.at === "stopped" ? undefined : this.#phase.runtime;
  }

  /** As `Kernel.start`. */
  async start(): Promise<void> {
    if (this.#phase.at !== "stopped") throw fail("SVC_KERNEL_STARTED");
    const start = this.#start();
    this.#starting = start.catch(() => {});
    await start;
  }

  async #start(): Promise<void> {
    const { host, settings, log, locations, node, now } = this.#assembly;
    const { dataFolder, folder, onDisk } = locations;
    const version = this.#options.version ?? SDK_VERSION;
    this.#phase = { at: "starting", runtime: undefined };
    this.#startedAt = now();
    this.#fatal = undefined;
    this.#status.starting({ version, node: node.id, folder, ...(onDisk ? { dataFolder } : {}) });
    try {
      const { crashedAt, ...tasks } = await boot({
        assembly: this.#assembly,
        options: this.#options,
        http: this.#http,
        workspaces: this.#workspaces,
        status: this.#status,
        steps: this.#steps,
        health: () => this.health(),
        reload: () => this.reload(),
        onInstance: (id) => {
          this.#instance = id;
        },
        onRuntime: (runtime) => {
          this.#phase = { at: "starting", runtime };
        },
        onLost: (error) => this.#lost(error),
      });
      this.#crashedAt = crashedAt;
      this.#phase = { at: "running", runtime: this.runtime };
      await keepLastGood(settings.configuration, dataFolder, log);
      this.#status.running({ ...tasks, startMs: now() - this.#startedAt }, host.statuses());
    } catch (error) {
      await this.#close().catch(() => {});
      throw error;
    }
  }

  /** As `Kernel.stop`. */
  async stop(drainSeconds: number | undefined): Promise<void> {
    // A start in progress finishes first: a partial start cannot be stopped in order.
    if (this.#phase.at === "starting") await this.#starting;
    if (this.#phase.at !== "stopped") await this.#shutdown.stop(drainSeconds);
  }

  async #leave(): Promise<void> {
    // A reload may still set plugins up.
    await this.#reloading;
    await noteStop(this.runtime.core, this.#assembly.node.id).catch((error) => this.#assembly.log.error({ err: error }, "the clean stop was not stored"));
    await this.#close();
  }

  async #close(): Promise<void> {
    try {
      await this.#steps.undo();
    } finally {
      this.#status.stopped();
      this.#phase = { at: "stopped" };
    }
  }

  #lost(error: Error): void {
    this.#fatal = error;
    this.#assembly.log.error({ err: error }, "state can no longer be kept; stopping");
    this.#options.onFatal?.(error);
  }

  /** As `Kernel.reload`; one after the other. */
  reload(): Promise<ReloadReport> {
    const turn = this.#reloading.then(() => this.#reload());
    this.#reloading = turn.catch((error) => this.#status.refused(error));
    return turn;
  }

  async #reload(): Promise<ReloadReport> {
    await this.#starting;
    this.#assembly.log.reopen();
    if (this.#phase.at === "leaving") throw fail("SVC_DAEMON_DRAINING");
    const { reloadConfiguration } = await import("./reload.ts");
    const report = await reloadConfiguration(this.#assembly, this.runtime, this.#workspaces);
    this.#status.reloaded(report);
    return report;
  }

  /** As `Kernel.restart`. */
  async restart(request: RestartRequest): Promise<number> {
    if (this.#phase.at !== "running") throw fail("SVC_DAEMON_DRAINING");
    // Validate first: do not stop a daemon that could not start again.
    await readConfiguration(this.#assembly.locations.reopen(), this.#assembly.host);
    return this.#shutdown.restart(request);
  }

  /** As `Kernel.health`. */
  health(): Health {
    const { node, host, settings, locations, now } = this.#assembly;
    const state = this.#phase.at === "leaving" ? "draining" : this.#phase.at;
    return this.#assembly.status.healthOf({
      ok: state === "running" && this.#fatal === undefined,
      state,
      node,
      ...(this.#instance === undefined ? {} : { instance: this.#instance, folder: locations.folder }),
      version: this.#options.version ?? SDK_VERSION,
      ...(this.#crashedAt === undefined ? {} : { lastCrash: new Date(this.#crashedAt).toISOString() }),
      startedAt: this.#startedAt,
      now: now(),
      tasks: this.#running?.pipeline.tasks,
      plugins: host.statuses(),
      live: host.live,
      unusable: settings.unusable,
      storage: this.#running?.store.health(),
      fatal: this.#fatal,
    });
  }
}
