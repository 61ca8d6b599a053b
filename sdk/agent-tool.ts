import type { ObjectSchema } from "./config.ts";

/** A tool that agents may call; an error it throws is told to the agent. */
export interface AgentTool {
  readonly name: string;
  readonly description: string;
  readonly input: ObjectSchema;
  /** Which agents have it; default all. An agent that has it not is told that there is no such tool. Throwing counts as no. */
  for?(agent: string): boolean | Promise<boolean>;
  run(input: Record<string, unknown>, call: ToolCall): Promise<string>;
}

/** Capability `tools`: the tools that plugins offer to agents, for a plugin that serves them to programs elsewhere. */
export interface AgentTools {
  /** Those that the agent has. */
  list(agent: string): Promise<readonly Pick<AgentTool, "name" | "description" | "input">[]>;
  /** Runs one in the agent's name. Throws `SVC_TOOL_UNKNOWN`, `SVC_PLUGIN_TIMEOUT` after 60 s, and what the tool throws. */
  run(name: string, input: Record<string, unknown>, call: Pick<ToolCall, "agent" | "signal">): Promise<string>;
}

/** Who calls a tool. `agent` is the one that the tools server was started for; any program of this machine can name any agent. */
export interface ToolCall {
  readonly agent: string;
  /**
   * The task that the call is part of: a running one of this agent, by the kernel's own tables. Absent where the caller named none, one of
   * another agent, or one that is over and whose conversation runs no other; then nothing but `agent` is known.
   */
  readonly taskId?: string;
  /** Of that task: agents that have already worked on its chain, oldest first, without this one. */
  readonly chain?: readonly string[];
  /** The session of the program that the tools server belongs to, as it names it. A claim that nobody has verified. */
  readonly session?: string;
  /** The process that started the tools server. A claim that nobody has verified: compare it with what you know of that process. */
  readonly pid?: number;
  readonly signal: AbortSignal;
}
