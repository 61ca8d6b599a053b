import type { Actions, AgentTool, Collection, Log, ToolCall } from "@svc/sdk";
import type { ScopedStore } from "../../base/state-store.ts";
import type { Bus } from "../bus/bus.ts";
import type { Live } from "../host/live.ts";
import type { Scope } from "../host/scope.ts";
import type { LiveTasks } from "./live-tasks.ts";
import type { TaskRecord } from "./record.ts";

/** Dependencies of running actions. */
export interface ActionDeps {
  readonly store: ScopedStore;
  readonly bus: Bus;
  readonly log: Log;
  readonly now: () => number;
  live(): Live;
  /** The running task of that id, to add the call to its trace. */
  task(id: string): TaskRecord | undefined;
  failed(scope: Scope, what: string, error: unknown): void;
}

/** Dependencies of running tools. */
export interface ToolDeps {
  readonly tasks: Pick<LiveTasks, "leading" | "record" | "running">;
  readonly records: Pick<Collection<TaskRecord>, "get">;
  readonly bus: Pick<Bus, "within">;
  live(): Live;
  /** Counts a failure against the plugin. */
  failed(scope: Scope, what: string, error: unknown): void;
}

/** The running task that a call is part of, and the fields inherited from it; only `autonomy` for a task unknown to the tables. */
export type Caller = Partial<Pick<ToolCall, "agent" | "taskId" | "rootId" | "chain" | "topic" | "autonomy">>;

/** The tools of running plugins. A call's claimed task is checked against the running ones. */
export interface KernelTools {
  list(agent: string): Promise<readonly AgentTool[]>;
  run(name: string, input: Record<string, unknown>, call: Omit<ToolCall, "rootId" | "chain" | "topic" | "autonomy">): Promise<string>;
  /** Of a program on this machine that names the task which it runs for. */
  caller(claimed: string): Promise<Caller>;
}

/** The room that runs actions and tools for agents, people and other plugins. */
export interface ActionPart {
  createActions(deps: ActionDeps): Actions;
  tools(): Promise<{ createTools(deps: ToolDeps): KernelTools }>;
}
