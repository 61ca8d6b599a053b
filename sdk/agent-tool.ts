import type { ObjectSchema } from "./config.ts";
import type { Topic } from "./delegation.ts";
import type { TurnOptions } from "./messages.ts";

/** A tool that agents may call; the text of an error that it throws goes to the agent. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
  /** The action that it runs: the name by which traces and `toolUseRequired` know it. */
  readonly action?: string;
  /** Which agents have the tool; default all. For any other agent the tool does not exist. Throwing counts as false, and as a failure of the plugin. */
  for?(agent: string): boolean | Promise<boolean>;
  run(input: Record<string, unknown>, call: ToolCall): Promise<string>;
}

/**
 * Tools that come and go, or differ from agent to agent: `tools` is called at each listing, and at each call of a tool that no plugin provides by
 * itself. A set that throws, or takes longer than 2 s, counts as empty, and what cannot be used as a tool is left out; both are logged, and counted
 * as failures of the plugin. Not for isolated plugins.
 */
export interface AgentToolSet {
  readonly name: string;
  tools(agent: string): readonly AgentTool[] | Promise<readonly AgentTool[]>;
}

/** Capability `tools`: the tools that plugins offer to agents, for a plugin that serves them to programs elsewhere. */
export interface AgentTools {
  /** Tools that the agent has. */
  list(agent: string): Promise<readonly Pick<AgentTool, "name" | "description" | "input" | "action">[]>;
  /**
   * Runs a tool in the agent's name. The claimed task is checked against the running tasks, and dropped where they disagree. Throws
   * `SVC_TOOL_UNKNOWN`, also for a tool that the agent does not have, `SVC_PLUGIN_TIMEOUT` after `limitMs`, and the errors of the tool.
   */
  run(name: string, input: Record<string, unknown>, call: Omit<ToolCall, "rootId" | "chain" | "topic" | "autonomy">): Promise<string>;
}

/** Caller of a tool. `agent` is the one that the tools server was started for; any program of this machine can name any agent. */
export interface ToolCall {
  readonly agent: string;
  /**
   * The task that the call is part of: a running one of this agent, by the kernel's own tables. Absent where the caller named no task, a task of
   * another agent, or one that has ended and whose conversation runs no other; then only `agent` is known.
   */
  readonly taskId?: string;
  /** Of that task: the root event from which the call follows. */
  readonly rootId?: string;
  /** Agents that have already worked on its chain, oldest first, without this one. */
  readonly chain?: readonly string[];
  /** Topic of that chain. */
  readonly topic?: Topic;
  /**
   * Autonomy of the task; absent: unrestricted. For a call without a task: that of the most restricted current run of the agent, since the call may
   * come from that run.
   */
  readonly autonomy?: NonNullable<TurnOptions["autonomy"]>;
  /** Session of the program that owns the tools server, under the program's own name for it. Unverified. */
  readonly session?: string;
  /** Id of the process that started the tools server. Unverified: compare it with what you know of that process. */
  readonly pid?: number;
  /** Milliseconds that the caller waits; default 60 s at most. A tool that needs longer answers before how its result can be had later. */
  readonly limitMs?: number;
  /** The id of a `step` that the calling tier has begun for this call. */
  readonly step?: string;
  readonly signal: AbortSignal;
}
