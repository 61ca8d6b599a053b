import { useMemo } from "react";
import { useResource } from "../../data/resource.ts";

/** An agent that works on a card now. */
export interface AtWork {
  readonly agent: string;
  readonly name: string;
  readonly task: string;
  /** In Unix ms. */
  readonly since: number;
}

interface AgentTasks {
  readonly id: string;
  readonly name: string;
  readonly runningTasks?: readonly { readonly id: string; readonly channel: string; readonly chat: string; readonly startedAt: number }[];
}

/** The agents at work by the issue that they were called from: the chat of such a task is the id of the card. */
export function useAgentsAtWork(channel: string | undefined): ReadonlyMap<string, AtWork> {
  const { data } = useResource<{ readonly agents: readonly AgentTasks[] }>(channel === undefined ? undefined : "/api/agents", {
    refreshOn: ({ kind }) => kind === "agent" || kind === "message",
  });
  return useMemo(() => {
    const found = new Map<string, AtWork>();
    for (const { id, name, runningTasks = [] } of data?.agents ?? [])
      for (const task of runningTasks)
        if (task.channel === channel) found.set(task.chat, { agent: id, name: name || id, task: task.id, since: task.startedAt });
    return found;
  }, [data, channel]);
}
