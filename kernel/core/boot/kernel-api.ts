import type { Agents, Log, StoreNode, TaskEvent, TaskResult, Tasks, Traces } from "@svc/sdk";
import type { Bus } from "../bus/bus.ts";
import type { Configuration } from "../config/configuration.ts";
import type { KernelTools } from "../flow/actions-port.ts";
import type { ProcessStatus } from "../host/isolation-port.ts";
import type { routesOf } from "../host/live.ts";
import type { PluginState } from "../host/plugin-states.ts";
import type { Address, HttpServing, RequestHandler, ServerAddress } from "./http-port.ts";
import type { RestartRequest } from "./maintenance-port.ts";
import type { AgentAbilities, ChannelStatus } from "./status-port.ts";

/** What happened to a reload, in the words of the HTTP answer. */
export interface ReloadReport {
  readonly reloaded: boolean;
  /** Configuration paths that changed. */
  readonly changed: readonly string[];
  /** Of these, the ones that wait for a restart. */
  readonly restartRequired: readonly string[];
  /** Plugins that could not take their new section, each with the reason; they keep running on the old one or are failed. */
  readonly failed: readonly { readonly plugin: string; readonly reason: string }[];
}

/** One plugin, as `svc plugin list` and `/health` show it. */
export interface PluginStatus {
  readonly id: string;
  readonly version?: string;
  readonly state: PluginState;
  readonly reason?: string;
  readonly source: "first-party" | "package" | "path" | "inline";
  /** Milliseconds for import, setup and start. */
  readonly took?: { readonly load: number; readonly setup: number; readonly start: number };
  readonly provides: readonly string[];
  readonly hooks: readonly string[];
  readonly capabilities: readonly string[];
  readonly failures: number;
  /** The process of a plugin that runs in one of its own, and the walls around it. */
  readonly isolation?: ProcessStatus & { readonly walls: readonly string[] };
}

/** What `/health` answers. */
export interface Health {
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
  readonly node: { readonly id: string; readonly name: string };
  /** The identity of the data folder, and where relative paths start. Absent for a kernel that keeps nothing on disk. */
  readonly instance?: string;
  readonly folder?: string;
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  /** When a start found that the run before it had not ended in good order, of the last 200 starts of all its nodes; ISO 8601. */
  readonly lastCrash?: string;
  readonly tasks: { readonly running: number; readonly queued: number };
  readonly plugins: readonly PluginStatus[];
  /** What a person should look at, one sentence each. Empty when all is well. */
  readonly problems: readonly string[];
}

/** Tasks, as the kernel's own entries use them. */
export interface KernelTasks extends Tasks {
  /**
   * For a caller who lost the answer and asks again: waits for the end of a task that goes on, told by `listen` what happens from now on,
   * and answers with its result. Undefined where none is left: the message was dropped, or is about to be reported after a restart.
   */
  again(id: string, listen?: (event: TaskEvent) => void): Promise<TaskResult | undefined>;
}

/** A kernel: it runs between `start` and `stop`, as often as wanted. What needs a running one throws `SVC_KERNEL_STOPPED` else. */
export interface Kernel {
  readonly node: { readonly id: string; readonly name: string };
  readonly bus: Bus;
  readonly log: Log;
  readonly tasks: KernelTasks;
  readonly agents: Agents;
  readonly traces: Traces;
  /** The effective configuration. */
  readonly configuration: Configuration;
  /** Agent id for `/ask`, from `node.defaultAgent`. */
  readonly defaultAgent: string | undefined;
  start(): Promise<void>;
  /**
   * Refuse new work, wait for running turns as long as configured (or `drainSeconds`), then close everything. On the way out already:
   * waits for its end, `drainSeconds: 0` ends the wait for running turns, and a restart that was asked for becomes a stop.
   */
  stop(options?: { readonly drainSeconds?: number }): Promise<void>;
  health(): Health;
  /** The daemons that use the same state; undefined where this one alone does. */
  nodes(): Promise<readonly StoreNode[] | undefined>;
  /** Reads the configuration anew. Throws `SVC_CONFIG_*` and leaves everything as it was where the new one cannot be used. */
  reload(): Promise<ReloadReport>;
  /**
   * Asks for a restart and answers when it begins, in Unix milliseconds. Throws `SVC_RESTART_REFUSED`, `SVC_RESTART_UNSUPPORTED`,
   * `SVC_DAEMON_DRAINING`, and `SVC_CONFIG_*` where the configuration could not start again.
   */
  restart(request: RestartRequest): Promise<number>;
  /** Ways to build a context that plugins bring: values of a task's `contextStrategy`. */
  strategies(): readonly string[];
  /** What an agent can do; asks its engine. Throws `SVC_AGENT_UNKNOWN`. */
  capability(agent: string): Promise<AgentAbilities>;
  /** The channels of the plugins that are live now, by name. */
  channels(): Promise<readonly ChannelStatus[]>;
  /** Asks a channel's platform who we are. Throws `SVC_CHANNEL_UNKNOWN`, `SVC_CHANNEL_UNTESTABLE`, `SVC_CHANNEL_TEST`, `SVC_PLUGIN_TIMEOUT`. */
  testChannel(name: string, signal: AbortSignal): Promise<string>;
  /** Tools that plugins offer to this agent. */
  tools: KernelTools["list"];
  /** Runs one for an agent. Throws `SVC_TOOL_UNKNOWN`, also for a tool that this agent has not, `SVC_PLUGIN_TIMEOUT`, and what the tool throws. */
  runTool: KernelTools["run"];
  /** What is known of a program on this machine that says for which task it runs. */
  caller: KernelTools["caller"];
  /** Routes of the plugins that are live now. */
  routes(): ReturnType<typeof routesOf>;
  /**
   * The HTTP API for mounting in a fastify application: `app.register(await kernel.routesPlugin())`. With the name of a server that
   * a running plugin provides, such as `acme`, the routes of that one; else `SVC_SERVER_UNKNOWN`.
   */
  routesPlugin(server?: string): ReturnType<HttpServing["mount"]>;
  /**
   * The same for node:http and what stands on it: `app.use("/svc", await kernel.handler())` in Express, before its body parsers. It ends
   * each request, and lasts until the kernel stops.
   */
  handler(server?: string): Promise<RequestHandler>;
  /** Where the HTTP API listens. */
  readonly address: Address | undefined;
  /** Where the servers of plugins listen. */
  readonly servers: readonly ServerAddress[];
  /** Was this stray error a plugin's of this kernel? Then it is counted against it and the process may go on. Of several kernels, ask each. */
  stray(error: unknown): boolean;
}
