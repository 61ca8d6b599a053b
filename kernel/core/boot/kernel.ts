/*
 * The life of a kernel.
 *
 *   1 read      environment, document, plugins it asks for, schema, check   fails: SVC_CONFIG_*, nothing was opened    assembly.ts
 *   2 build     settings, log, bus, HTTP routes
 *   3 open      data folder lock, local secret, store, runtime              fails: SVC_DAEMON_RUNNING, SVC_STORE_*     boot.ts
 *   4 set up    each plugin's setup; a broken one is listed and left out
 *   5 readmit   unfinished work of a crash or stop is requeued, before new messages can enter
 *   6 listen    HTTP, if asked for: messages are accepted, and queue behind the readmitted ones
 *   7 start     each plugin's start, side by side, each with its limit
 *   8 work      turns begin, in the old order; tasks that are not resumed are reported
 *   9 run       and reload                                                                                             lifecycle.ts, reload.ts
 *  10 leave     at a stop or restart: refuse, drain, interrupt; then undo the steps of 3 to 8, the last first          shutdown.ts
 */
import { authoritiesOf, routesOf } from "../host/live.ts";
import { type Assembly, assemble } from "./assembly.ts";
import type { HttpPart, HttpServing } from "./http-port.ts";
import type { Health, Kernel, ReloadReport } from "./kernel-api.ts";
import type { KernelParts } from "./kernel-parts.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { MaintenancePart, RestartRequest } from "./maintenance-port.ts";
import type { CoreOptions } from "./options.ts";
import type { AgentAbilities, ChannelStatus } from "./status-port.ts";

/** Creates a kernel: reads and checks the configuration and imports the plugins it names. Throws `SVC_CONFIG_*` if the configuration is not valid. */
export async function createKernel(options: CoreOptions, parts: KernelParts): Promise<Kernel> {
  const assembly = await assemble(options, parts);
  return new PluginKernel(assembly, options, await parts.http(), await parts.maintenance());
}

class PluginKernel implements Kernel {
  readonly node: Kernel["node"];
  readonly bus: Kernel["bus"];
  readonly log: Kernel["log"];
  readonly agents: Kernel["agents"];
  readonly #assembly: Assembly;
  readonly #http: HttpServing;
  readonly #life: Lifecycle;

  constructor(assembly: Assembly, options: CoreOptions, http: HttpPart, maintenance: MaintenancePart) {
    const { host, settings, locations, node, bus, log } = assembly;
    this.node = node;
    this.bus = bus;
    this.log = log;
    this.agents = settings.directory;
    this.#assembly = assembly;
    this.#http = http.open({
      kernel: this,
      listen: options.listen ?? false,
      config: () => settings.value,
      folder: locations.stateFolder,
      instance: () => this.#life.instance,
      routes: () => routesOf(host.live),
      authorities: () => authoritiesOf(host.live),
      scopes: host.tokenScopes,
      log,
    });
    host.onChange(this.#http.changed);
    this.#life = new Lifecycle({ assembly, options, http: this.#http, maintenance });
  }

  get tasks() {
    return this.#life.runtime.tasks;
  }
  get traces() {
    return this.#life.runtime.traces;
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

  start(): Promise<void> {
    return this.#life.start();
  }
  stop({ drainSeconds }: { readonly drainSeconds?: number } = {}): Promise<void> {
    return this.#life.stop(drainSeconds);
  }
  reload(): Promise<ReloadReport> {
    return this.#life.reload();
  }
  restart(request: RestartRequest): Promise<number> {
    return this.#life.restart(request);
  }
  async nodes() {
    return this.#life.runtime.store.nodes?.();
  }
  health(): Health {
    return this.#life.health();
  }

  strategies(): readonly string[] {
    return this.#assembly.host.strategies();
  }
  capability(agent: string): Promise<AgentAbilities> {
    return this.#assembly.status.abilitiesOf(agent, this.#assembly.settings.agents, this.#live, this.tools);
  }
  async channels(): Promise<readonly ChannelStatus[]> {
    const { deliveries } = this.#life.runtime;
    return this.#assembly.status.channelsOf(this.#live, (channel) => deliveries.unsent(channel));
  }
  testChannel(name: string, signal: AbortSignal): Promise<string> {
    return this.#assembly.status.testChannelOf(name, this.#live, signal);
  }
  get tools() {
    return this.#life.runtime.tools.list;
  }
  get runTool() {
    return this.#life.runtime.tools.run;
  }
  get caller() {
    return this.#life.runtime.tools.caller;
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
