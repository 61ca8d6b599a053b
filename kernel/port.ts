import type { Accepted, Agents, Authority, Envelope, HttpRoute, Message, TaskEvent, TaskResult, Tasks, Traces } from "@svc/sdk";
import type { Bus } from "./bus/bus.ts";

/** A task that holds a slot or waits for one. */
export interface RunningTask {
  readonly id: string;
  readonly agent: string;
  /** What it is doing now: `queued`, the preparation step's name, or `agent`. */
  readonly step: string;
  readonly startedAt: number;
  readonly channel: string;
  readonly chat: string;
  readonly conversation: string;
}

/** The kernel's tasks: what plugins see, and the doors of the HTTP surface. */
export interface KernelTasks extends Tasks {
  accept(message: Message): Promise<Accepted>;
  run(message: Message, listen?: (event: TaskEvent) => void, signal?: AbortSignal): Promise<TaskResult>;
  /**
   * Work for the conversation of a running task. `replace` cancels that task, waits for its end and runs before anything queued.
   * Undefined when no such task runs or waits.
   */
  followup(id: string, message: { readonly text: string; readonly replace: boolean; readonly sender?: string }): Promise<Accepted | undefined>;
  /** Running and preparing tasks. */
  running(): readonly RunningTask[];
  /** Accepted and held behind a running one. */
  queued(): readonly RunningTask[];
}

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
  readonly state: "known" | "disabled" | "failed" | "quarantined" | "loaded" | "running" | "stopped";
  readonly reason?: string;
  readonly source: "first-party" | "package" | "path" | "inline";
  /** Milliseconds for import, setup and start. */
  readonly took?: { readonly load: number; readonly setup: number; readonly start: number };
  readonly provides: readonly string[];
  readonly hooks: readonly string[];
  readonly capabilities: readonly string[];
  readonly failures: number;
}

export interface Health {
  readonly ok: boolean;
  readonly state: "starting" | "running" | "draining" | "stopped";
  readonly node: { readonly id: string; readonly name: string };
  readonly version: string;
  readonly pid: number;
  readonly uptimeSeconds: number;
  readonly tasks: { readonly running: number; readonly queued: number };
  readonly plugins: readonly PluginStatus[];
  /** What a person should look at, in words. Empty when all is well. */
  readonly problems: readonly string[];
}

/** What the HTTP room needs of the kernel, so that it can be read and tested without it. */
export interface KernelPort {
  readonly node: { readonly id: string; readonly name: string };
  readonly bus: Bus;
  readonly tasks: KernelTasks;
  readonly agents: Agents;
  readonly traces: Traces;
  /** Agent id for `/ask`, from `node.defaultAgent`. */
  readonly defaultAgent: string | undefined;
  health(): Health;
  reload(): Promise<ReloadReport>;
  /** Routes of the plugins that are live now. */
  routes(): readonly (HttpRoute & { readonly owner: string })[];
  authorities(): readonly Authority[];
  /** Subscriptions of an agent as configured. */
  subscriptions(agent: string): readonly unknown[];
  /** Filters events by an agent's subscriptions. */
  matches(agent: string, envelope: Envelope): boolean;
}
