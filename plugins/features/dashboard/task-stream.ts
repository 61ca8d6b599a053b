import type { Envelope, HttpRoute, PluginContext } from "@svc/sdk";
import { fail } from "./errors.ts";

/**
 * `GET /api/task/stream` (000:L210): tasks of the daemon the dashboard runs in, as they go on. First a `snapshot` of those that run or
 * wait, then each of their events under its own type (`task:started`, `task:step`, `task:completed`). `agent` narrows it to one agent,
 * `task` to one task: then it ends when that task does, and an unknown one is 404.
 */
export function taskStreamRoute({ tasks, traces, events }: Pick<PluginContext, "tasks" | "traces" | "events">): HttpRoute {
  return {
    server: "dashboard",
    method: "GET",
    path: "/api/task/stream",
    guard: "scope:dashboard:read",
    query: { type: "object", properties: { task: { type: "string", minLength: 1 }, agent: { type: "string", minLength: 1 } } },
    async handle({ query: { task, agent }, signal }, reply) {
      const trace = task === undefined ? undefined : await traces.get(task);
      if (task !== undefined && trace === undefined) throw fail("SVC_DASHBOARD_TASK_UNKNOWN", { task });
      const stream = reply.stream();
      const wanted = (about: { readonly id?: string | undefined; readonly agent?: string | undefined }) =>
        (task === undefined || about.id === task) && (agent === undefined || about.agent === agent);
      const hear = (envelope: Envelope) => {
        const { type, ref, agentId } = envelope;
        if (stream.closed) stop();
        else if (type.startsWith("task:") && wanted({ id: ref, agent: agentId })) {
          stream.event(type, envelope);
          if (task === undefined || type !== "task:completed") return;
          stream.end();
          stop();
        }
      };
      const stop = events.subscribe(hear, undefined, { siblings: true });
      signal.addEventListener("abort", stop, { once: true });
      stream.event("snapshot", { running: tasks.running().filter(wanted), queued: tasks.queued().filter(wanted) });
      if (trace !== undefined && trace.status !== "in-flight") {
        stream.event("task:completed", { ref: task, agentId: trace.agent, data: { taskId: task, status: trace.status, durationMs: trace.durationMs } });
        stream.end();
        stop();
      }
    },
  };
}
