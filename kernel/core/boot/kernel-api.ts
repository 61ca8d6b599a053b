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

/** Result of a reload, as text of the HTTP answer. */
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

/** Answer of `/health`. */
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
  /** Problems for a person, one sentence each. Empty when healthy. */
  readonly problems: readonly string[];
}

/** Tasks, as the kernel's own entries use them. */
export interface KernelTasks extends Tasks {
  /**
   * For a caller who retries after losing the answer: waits for the end of a running task, passes its events from now on to `listen`, and resolves
   * with its result. Undefined if there is none: the message was dropped, or is about to be reported after a restart.
   */
  again(id: string, listen?: (event: TaskEvent) => void): Promise<TaskResult | undefined>;
}

/** A kernel: runs between `start` and `stop`, any number of times. Methods that need a running one throw `SVC_KERNEL_STOPPED` otherwise. */
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
   * Refuses new work, waits for running turns as long as configured (or `drainSeconds`), then closes everything. If a stop is already in progress:
   * waits for its end, `drainSeconds: 0` ends the wait for running turns, and a requested restart becomes a stop.
   */
  stop(options?: { readonly drainSeconds?: number }): Promise<void>;
  health(): Health;
  /** The daemons that use the same state; undefined where this one alone does. */
  nodes(): Promise<readonly StoreNode[] | undefined>;
  /** Reads the configuration anew. Throws `SVC_CONFIG_*` and leaves everything as it was where the new one cannot be used. */
  reload(): Promise<ReloadReport>;
  /**
   * Requests a restart; resolves with its time, in Unix milliseconds. Throws `SVC_RESTART_REFUSED`, `SVC_RESTART_UNSUPPORTED`, `SVC_DAEMON_DRAINING`,
   * and `SVC_CONFIG_*` if the configuration is not startable.
   */
  restart(request: RestartRequest): Promise<number>;
  /** Ways to build a context that plugins bring: values of a task's `contextStrategy`. */
  strategies(): readonly string[];
  /** Returns the abilities of an agent; queries its engine. Throws `SVC_AGENT_UNKNOWN`. */
  capability(agent: string): Promise<AgentAbilities>;
  /** The channels of the plugins that are live now, by name. */
  channels(): Promise<readonly ChannelStatus[]>;
  /** Returns our account on a channel's platform. Throws `SVC_CHANNEL_UNKNOWN`, `SVC_CHANNEL_UNTESTABLE`, `SVC_CHANNEL_TEST`, `SVC_PLUGIN_TIMEOUT`. */
  testChannel(name: string, signal: AbortSignal): Promise<string>;
  /** Tools that plugins offer to this agent. */
  tools: KernelTools["list"];
  /** Runs a tool for an agent. Throws `SVC_TOOL_UNKNOWN`, also for a tool that this agent does not have, `SVC_PLUGIN_TIMEOUT`, and the error of the tool. */
  runTool: KernelTools["run"];
  /** Verifies a local program's claim about the task that it runs for. */
  caller: KernelTools["caller"];
  /** Routes of the plugins that are live now. */
  routes(): ReturnType<typeof routesOf>;
  /**
   * The HTTP API for mounting in a fastify application: `app.register(await kernel.routesPlugin())`. With the name of a server that
   * a running plugin provides, such as `acme`, the routes of that one; else `SVC_SERVER_UNKNOWN`.
   */
  routesPlugin(server?: string): ReturnType<HttpServing["mount"]>;
  /**
   * A request handler for node:http and frameworks on top of it: `app.use("/svc", await kernel.handler())` in Express, before its body parsers. It
   * ends each request, and is valid until the kernel stops.
   */
  handler(server?: string): Promise<RequestHandler>;
  /** Where the HTTP API listens. */
  readonly address: Address | undefined;
  /** Where the servers of plugins listen. */
  readonly servers: readonly ServerAddress[];
  /** Counts an uncaught error against the plugin of this kernel that caused it; if true, the process may continue. With several kernels, call each. */
  stray(error: unknown): boolean;
}
