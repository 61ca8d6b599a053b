import type { ObjectSchema } from "./config.ts";
import type { Topic } from "./delegation.ts";
import type { TurnOptions } from "./messages.ts";

/** A tool that agents may call; an error it throws is told to the agent. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
  /** The action that it runs: the name by which traces and `toolUseRequired` know it. */
  readonly action?: string;
  /** Which agents have it; default all. An agent that has it not is told that there is no such tool. Throwing counts as no. */
  for?(agent: string): boolean | Promise<boolean>;
  run(input: Record<string, unknown>, call: ToolCall): Promise<string>;
}

/**
 * Tools that come and go, or differ from agent to agent: asked at each listing, and at each call of a tool that no plugin provides by itself. One
 * that throws, or needs longer than 2 s, has none. Not for isolated plugins.
 */
export interface AgentToolSet {
  readonly name: string;
  tools(agent: string): readonly AgentTool[] | Promise<readonly AgentTool[]>;
}

/** Capability `tools`: the tools that plugins offer to agents, for a plugin that serves them to programs elsewhere. */
export interface AgentTools {
  /** Those that the agent has. */
  list(agent: string): Promise<readonly Pick<AgentTool, "name" | "description" | "input" | "action">[]>;
  /**
   * Runs one in the agent's name. What is said of the task is checked against what runs, and left out where that does not agree. Throws
   * `SVC_TOOL_UNKNOWN`, also for a tool that the agent has not, `SVC_PLUGIN_TIMEOUT` after `limitMs`, and what the tool throws.
   */
  run(name: string, input: Record<string, unknown>, call: Omit<ToolCall, "rootId" | "chain" | "topic" | "autonomy">): Promise<string>;
}

/** Who calls a tool. `agent` is the one that the tools server was started for; any program of this machine can name any agent. */
export interface ToolCall {
  readonly agent: string;
  /**
   * The task that the call is part of: a running one of this agent, by the kernel's own tables. Absent where the caller named none, one of
   * another agent, or one that is over and whose conversation runs no other; then nothing but `agent` is known.
   */
  readonly taskId?: string;
  /** Of that task: the root event from which the call follows. */
  readonly rootId?: string;
  /** Agents that have already worked on its chain, oldest first, without this one. */
  readonly chain?: readonly string[];
  /** What that chain is about. */
  readonly topic?: Topic;
  /**
   * What the task may do; absent where nobody restricts it. Of a call without a task: what the most restricted run of the agent may do at
   * the moment, since it may be a call of that one.
   */
  readonly autonomy?: NonNullable<TurnOptions["autonomy"]>;
  /** The session of the program that the tools server belongs to, as it names it. A claim that nobody has verified. */
  readonly session?: string;
  /** The process that started the tools server. A claim that nobody has verified: compare it with what you know of that process. */
  readonly pid?: number;
  /** Milliseconds that the caller waits; default 60 s at most. A tool that needs longer answers before how its result can be had later. */
  readonly limitMs?: number;
  /** The id of a `step` that the calling tier has begun for this call. */
  readonly step?: string;
  readonly signal: AbortSignal;
}
