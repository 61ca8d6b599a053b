import type { HttpRoute, RunningTask } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { KernelPort } from "../../core/boot/kernel-port.ts";

/** `GET /agents` (000:L185): every agent with its running tasks, each with the step it is in; `active` is their number. */
export function agentsRoute(port: KernelPort): HttpRoute {
  return {
    method: "GET",
    path: "/agents",
    guard: "peer",
    handle() {
      const running = byAgent(port.tasks.running());
      const queued = byAgent(port.tasks.queued());
      return {
        agents: port.agents.list().map(({ id, name, tier, model, access, mentions }) => {
          const runningTasks = running.get(id) ?? [];
          return { id, name, tier, model, access, mentions, active: runningTasks.length, queued: queued.get(id)?.length ?? 0, runningTasks };
        }),
      };
    },
  };
}

/** `GET /agents/:id/events` (000:L300): what the agent subscribes to, at most 50 events a read, oldest first; `next` is the `since` of the next read, `gap` says that events left the buffer unread. */
export function agentEventsRoute(port: KernelPort): HttpRoute {
  return {
    method: "GET",
    path: "/agents/:id/events",
    guard: "peer",
    query: { type: "object", properties: { since: { type: "string" }, limit: { type: "integer", minimum: 1 } } },
    handle({ params, query: { since, limit } }) {
      const agentId = params.id as string;
      if (port.agents.get(agentId) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent: agentId });
      const read = port.bus.agentEvents((envelope) => port.matches(agentId, envelope), since || undefined, limit === undefined ? undefined : Number(limit));
      return { agentId, subscriptions: port.subscriptions(agentId), ...read };
    },
  };
}

/** `GET /agents/:id/capability` (000:L235): what the agent can do, and whether its engine is usable. */
export function agentCapabilityRoute(port: KernelPort): HttpRoute {
  return { method: "GET", path: "/agents/:id/capability", guard: "peer", handle: ({ params }) => port.capability(params.id as string) };
}

function byAgent(tasks: readonly RunningTask[]): Map<string, Omit<RunningTask, "agent">[]> {
  const lists = new Map<string, Omit<RunningTask, "agent">[]>();
  for (const { agent, ...task } of tasks) {
    const list = lists.get(agent);
    if (list === undefined) lists.set(agent, [task]);
    else list.push(task);
  }
  return lists;
}
