import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /api/tasks`: running and queued tasks, in the order of acceptance. */
export function liveTasksRoute(kernel: Pick<Kernel, "tasks">): HttpRoute {
  return {
    method: "GET",
    path: "/api/tasks",
    summary: "What runs and what waits",
    guard: "loopback",
    handle: () => ({ running: kernel.tasks.running(), queued: kernel.tasks.queued() }),
  };
}

/** `POST /api/tasks/:taskId/cancel` (000:L187): ends a task that runs, is prepared or waits. 404 for any other, so also the second time. */
export function cancelRoute(kernel: Pick<Kernel, "tasks">): HttpRoute {
  return {
    method: "POST",
    path: "/api/tasks/:taskId/cancel",
    summary: "Ends a task",
    guard: "peer",
    body: { type: "object", properties: { reason: { type: "string" } } },
    async handle({ params, body }) {
      const taskId = params.taskId as string;
      if (!(await kernel.tasks.cancel(taskId, (body as { reason?: string }).reason))) throw fail("SVC_TASK_UNKNOWN", { task: taskId });
      return { ok: true, taskId };
    },
  };
}

interface Followup {
  readonly message: string;
  readonly replace?: boolean;
  readonly sender?: string;
}

/**
 * `POST /api/tasks/:taskId/followup` (000:L188): more work for the conversation of a running task, after it or in place of it. 404 for a task that
 * waits or has ended.
 */
export function followupRoute(kernel: Pick<Kernel, "tasks">): HttpRoute {
  return {
    method: "POST",
    path: "/api/tasks/:taskId/followup",
    summary: "A further message to a task's conversation",
    guard: "peer",
    body: {
      type: "object",
      required: ["message"],
      properties: { message: { type: "string", minLength: 1 }, replace: { type: "boolean" }, sender: { type: "string", minLength: 1 } },
    },
    async handle({ params, body }) {
      const taskId = params.taskId as string;
      const { message, replace = false, sender } = body as Followup;
      const accepted = await kernel.tasks.followup(taskId, { text: message, replace, ...(sender === undefined ? {} : { sender }) });
      if (accepted === undefined) throw fail("SVC_TASK_NOT_RUNNING", { task: taskId });
      return { ok: true, taskId: accepted.taskId, rootId: accepted.rootId, replaced: replace };
    },
  };
}
