/*
 * The life of a kernel.
 *
 *   1 read      environment, document, plugins it asks for, schema, check   fails: SVC_CONFIG_*, nothing was opened    assembly.ts
 *   2 build     settings, log, bus, HTTP routes
 *   3 open      data folder lock, local secret, store, runtime              fails: SVC_DAEMON_RUNNING, SVC_STORE_*     boot.ts
 *   4 set up    each plugin's setup; a broken one is listed and left out
 *   5 readmit   what a crash or stop left unfinished is queued again, before anything new can come in
 *   6 listen    HTTP, if asked for: work is taken, and waits behind what was readmitted
 *   7 start     each plugin's start, side by side, each with its limit
 *   8 work      the work begins, in the old order; what is not resumed is reported
 *   9 run       and reload                                                                                             reload.ts
 *  10 leave     at a stop or restart: refuse, drain, interrupt; then undo the steps of 3 to 8, the last first          shutdown.ts
 */
import type { AgentTool } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import { keepLastGood, readConfiguration } from "../config/configuration.ts";
import { drainSeconds } from "../config/environment.ts";
import { noteStop } from "../flow/recover.ts";
import { type AgentAbilities, abilitiesOf } from "../host/agent-abilities.ts";
import { runToolOf, toolsOf } from "../host/agent-tools.ts";
import { type ChannelStatus, channelsOf, testChannelOf } from "../host/channel-status.ts";
import { authoritiesOf, routesOf } from "../host/live.ts";
import { type Assembly, assemble } from "./assembly.ts";
import { boot } from "./boot.ts";
import { healthOf } from "./health.ts";
import type { HttpPart, HttpServing } from "./http-port.ts";
import type { Health, Kernel, ReloadReport } from "./kernel-api.ts";
import type { KernelParts } from "./kernel-parts.ts";
import type { KernelOptions } from "./options.ts";
import { reloadConfiguration } from "./reload.ts";
import type { Runtime } from "./runtime.ts";
import { createShutdown, type Shutdown } from "./shutdown.ts";
import { createStatusEvents, type StatusEvents } from "./status-events.ts";
import { UndoList } from "./undo-list.ts";
import type { RestartRequest, UpkeepPart, Workspaces } from "./upkeep-port.ts";

/** The version that `/health` shows when the embedding program gives none. */
const VERSION = "0.1.0";

/** Make a kernel: reads and checks the configuration and imports the plugins it asks for. Throws `SVC_CONFIG_*` when it cannot run. */
export async function createKernel(options: KernelOptions, parts: KernelParts): Promise<Kernel> {
  const assembly = await assemble(options, parts);
  return new PluginKernel(assembly, options, await parts.http(), await parts.upkeep());
}

/** Where a kernel stands in its life, with what there is of it. */
type Phase =
  | { readonly at: "stopped" }
  | { readonly at: "starting"; readonly runtime: Runtime | undefined }
  | { readonly at: "running"; readonly runtime: Runtime }
  | { readonly at: "leaving"; readonly runtime: Runtime };

class PluginKernel implements Kernel {
  readonly #assembly: Assembly;
  readonly #options: KernelOptions;
  readonly #http: HttpServing;
  readonly #status: StatusEvents;
  readonly #workspaces: Workspaces;
  readonly #shutdown: Shutdown;
  /** What has to be undone when it stops. */
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

  constructor(assembly: Assembly, options: KernelOptions, http: HttpPart, upkeep: UpkeepPart) {
    const { host, settings, log, bus, node, now, locations } = assembly;
    this.#assembly = assembly;
    this.#options = options;
    this.#startedAt = now();
    this.#steps = new UndoList(log);
    this.#status = createStatusEvents(log, bus, node.name);
    this.#workspaces = upkeep.createWorkspaces(log, (problems) => settings.noteWorkspaces(problems));
    this.#http = http.open({
      kernel: this,
      listen: options.listen ?? false,
      config: () => settings.value,
      folder: locations.stateFolder,
      instance: () => this.#instance,
      routes: () => routesOf(host.live),
      authorities: () => authoritiesOf(host.live),
      scopes: host.tokenScopes,
      log,
    });
    host.onChange(this.#http.changed);
    this.#shutdown = createShutdown({
      log,
      now,
      config: () => settings.value,
      createRestarts: upkeep.createRestarts,
      runtime: () => this.#runtime,
      drainSeconds: (agent) => Math.max(drainSeconds(settings.value, locations.env), settings.agents.settings(agent)?.drainTimeoutSeconds ?? 0),
      enter: (at) => {
        this.#phase = { at, runtime: this.#runtime };
      },
      close: () => this.#leave(),
      tell: (summary, data) => bus.publish({ kind: "status", type: "status", summary, data }),
      onRestart: options.onRestart,
    });
  }

  get node() {
    return this.#assembly.node;
  }
  get bus() {
    return this.#assembly.bus;
  }
  get log() {
    return this.#assembly.log;
  }
  get tasks() {
    return this.#runtime.tasks;
  }
  get agents() {
    return this.#assembly.settings.directory;
  }
  get traces() {
    return this.#runtime.traces;
  }
  get configuration() {
    return this.#assembly.settings.configuration;
  }
  get defaultAgent() {
    return this.#assembly.settings.node.defaultAgent;
  }
  get address() {
    return this.#http.address;
  }
  get servers() {
    return this.#http.servers;
  }

  get #live() {
    return this.#assembly.host.live;
  }
  /** Throws `SVC_KERNEL_STOPPED` when there is none. */
  get #runtime(): Runtime {
    const runtime = this.#running;
    if (runtime === undefined) throw fail("SVC_KERNEL_STOPPED");
    return runtime;
  }
  get #running(): Runtime | undefined {
    return this.#phase.at === "stopped" ? undefined : this.#phase.runtime;
  }

  async start(): Promise<void> {
    if (this.#phase.at !== "stopped") throw fail("SVC_KERNEL_STARTED");
    const start = this.#start();
    this.#starting = start.catch(() => {});
    await start;
  }

  async #start(): Promise<void> {
    const { host, settings, log, locations, node, now } = this.#assembly;
    const { dataFolder, folder, onDisk } = locations;
    const version = this.#options.version ?? VERSION;
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
        onInstance: (id) => {
          this.#instance = id;
        },
        onRuntime: (runtime) => {
          this.#phase = { at: "starting", runtime };
        },
        onLost: (error) => this.#lost(error),
      });
      this.#crashedAt = crashedAt;
      this.#phase = { at: "running", runtime: this.#runtime };
      await keepLastGood(settings.configuration, dataFolder, log);
      this.#status.running({ ...tasks, startMs: now() - this.#startedAt }, host.statuses());
    } catch (error) {
      await this.#close().catch(() => {});
      throw error;
    }
  }

  async stop({ drainSeconds: given }: { readonly drainSeconds?: number } = {}): Promise<void> {
    // A start that is under way ends first: half of it could not be ended in good order.
    if (this.#phase.at === "starting") await this.#starting;
    if (this.#phase.at !== "stopped") await this.#shutdown.stop(given);
  }

  async #leave(): Promise<void> {
    // A reload may still set plugins up.
    await this.#reloading;
    await noteStop(this.#runtime.core).catch((error) => this.log.error({ err: error }, "the clean stop was not stored"));
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
    this.log.error({ err: error }, "state can no longer be kept; stopping");
    this.#options.onFatal?.(error);
  }

  reload(): Promise<ReloadReport> {
    const turn = this.#reloading.then(() => this.#reload());
    this.#reloading = turn.catch((error) => this.#status.refused(error));
    return turn;
  }

  async #reload(): Promise<ReloadReport> {
    await this.#starting;
    this.log.reopen();
    if (this.#phase.at === "leaving") throw fail("SVC_DAEMON_DRAINING");
    const report = await reloadConfiguration(this.#assembly, this.#runtime, this.#workspaces);
    this.#status.reloaded(report);
    return report;
  }

  async restart(request: RestartRequest): Promise<number> {
    if (this.#phase.at !== "running") throw fail("SVC_DAEMON_DRAINING");
    // What could not start again must not be stopped for it.
    await readConfiguration(this.#assembly.locations.reopen(), this.#assembly.host);
    return this.#shutdown.restart(request);
  }

  health(): Health {
    const { node, host, settings, locations, now } = this.#assembly;
    const state = this.#phase.at === "leaving" ? "draining" : this.#phase.at;
    return healthOf({
      ok: state === "running" && this.#fatal === undefined,
      state,
      node,
      ...(this.#instance === undefined ? {} : { instance: this.#instance, folder: locations.folder }),
      version: this.#options.version ?? VERSION,
      ...(this.#crashedAt === undefined ? {} : { lastCrash: new Date(this.#crashedAt).toISOString() }),
      startedAt: this.#startedAt,
      now: now(),
      tasks: this.#running?.pipeline.tasks,
      plugins: host.statuses(),
      unusable: settings.unusable,
      storage: this.#running?.store.health(),
      fatal: this.#fatal,
    });
  }

  strategies(): readonly string[] {
    return this.#assembly.host.strategies();
  }
  capability(agent: string): Promise<AgentAbilities> {
    return abilitiesOf(agent, this.#assembly.settings.agents, this.#live);
  }
  async channels(): Promise<readonly ChannelStatus[]> {
    return channelsOf(this.#live, this.#runtime.deliveries.unsent);
  }
  testChannel(name: string, signal: AbortSignal): Promise<string> {
    return testChannelOf(name, this.#live, signal);
  }
  tools(): readonly AgentTool[] {
    return toolsOf(this.#live);
  }
  runTool(name: string, input: Record<string, unknown>, caller: { readonly agent: string; readonly signal: AbortSignal }): Promise<string> {
    return runToolOf(this.#live, name, input, caller);
  }
  routes() {
    return routesOf(this.#live);
  }
  routesPlugin(server = "daemon") {
    return this.#http.mount(server);
  }
  handler(server = "daemon") {
    return this.#http.handler(server);
  }
  stray(error: unknown): boolean {
    return this.#assembly.host.stray(error);
  }
}
