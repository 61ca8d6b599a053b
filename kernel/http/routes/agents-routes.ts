import type { HttpRoute, RunningTask } from "@svc/sdk";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /agents` (000:L185): every agent with its running tasks, each with the step it is in; `active` is their number. */
export function agentsRoute(kernel: Pick<Kernel, "agents" | "tasks">): HttpRoute {
  return {
    method: "GET",
    path: "/agents",
    summary: "The agents of this daemon",
    guard: "peer",
    handle() {
      const running = byAgent(kernel.tasks.running());
      const queued = byAgent(kernel.tasks.queued());
      return {
        agents: kernel.agents.list().map(({ id, name, tier, model, access, mentions }) => {
          const runningTasks = running.get(id) ?? [];
          return { id, name, tier, model, access, mentions, active: runningTasks.length, queued: queued.get(id)?.length ?? 0, runningTasks };
        }),
      };
    },
  };
}

/** `GET /agents/:id/capability` (000:L235): abilities of the agent, and whether its engine is usable. */
export function agentCapabilityRoute(kernel: Pick<Kernel, "capability">): HttpRoute {
  return {
    method: "GET",
    path: "/agents/:id/capability",
    summary: "What an agent can do, and whether its engine is usable",
    guard: "peer",
    handle: ({ params }) => kernel.capability(params.id as string),
  };
}

function byAgent(tasks: readonly RunningTask[]): Map<string, Omit<RunningTask, "agent">[]> {
  const lists = new Map<string, Omit<RunningTask, "agent">[]>();
  for (const { agent, node, ...task } of tasks) {
    if (node !== undefined) continue;
    const list = lists.get(agent);
    if (list === undefined) lists.set(agent, [task]);
    else list.push(task);
  }
  return lists;
}
