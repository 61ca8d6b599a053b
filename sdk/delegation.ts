import type { Inbound, TurnOptions } from "./messages.ts";

/** Topic of work: a project, and the issue, merge request or other subject in it. Set by the plugin that verified it, never by an agent. */
export interface Topic {
  /** `group/project`, `owner/repository`. */
  readonly project?: string;
  /** Within the project, as its place calls it: `issue 12`. */
  readonly subject?: string;
}

/**
 * One agent that has worked on a chain of calls. A chain is all work on one (project, subject); where neither is known, all work that follows from
 * one root. Calls inherit both, so that no agent leaves its chain by rephrasing.
 */
export interface ChainEntry extends Topic {
  /** An id alone is an agent of this daemon, `<node>/<id>` one of a peer. */
  readonly agent: string;
  /** The root event of the task by which the chain has come here. */
  readonly root: string;
}

/** The agents that have worked on a message's chain before the one that it is for, oldest first, each once. */
export function chainOf({ options = {}, rootId: root }: Pick<Inbound, "options" | "rootId">): readonly ChainEntry[] {
  return [...new Set(options.chain ?? [])].map((agent) => ({ agent, ...options.topic, root }));
}

/** The running task that a call is part of, if the kernel's own tables confirm the caller's claim. */
export interface CallingTask extends Pick<TurnOptions, "chain" | "topic" | "autonomy"> {
  readonly agent: string;
  readonly taskId: string;
  readonly rootId: string;
}

/**
 * Returns the options that a message inherits from the task that waits for its answer: the asker, the chain with the asker on it, its topic and
 * autonomy. For a caller without a task only the known fields.
 */
export function optionsOfCall({ agent, taskId, chain = [], topic, autonomy }: Partial<CallingTask>): TurnOptions {
  return {
    ...(agent === undefined ? {} : { askedBy: agent, chain: [...chain.filter((one) => one !== agent), agent] }),
    ...(taskId === undefined ? {} : { callerTask: taskId }),
    ...(topic === undefined ? {} : { topic }),
    ...(autonomy === undefined ? {} : { autonomy }),
  };
}
