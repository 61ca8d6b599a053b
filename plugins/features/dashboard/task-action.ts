import type { HttpRoute } from "@svc/sdk";
import type { TaskAction } from "./daemon.ts";
import type { Daemons } from "./daemons.ts";

/**
 * `POST /api/task/action?node=<url>&task=<id>&kind=cancel|followup` (000:L211): asks the daemon that runs the task, with our operator token
 * for it, and passes on what it says. A `node` that the configuration does not name is 400 and nothing is sent (AUTH-21).
 */
export function taskActionRoute(daemons: Daemons): HttpRoute {
  return {
    server: "dashboard",
    method: "POST",
    path: "/api/task/action",
    guard: "scope:dashboard:write",
    query: {
      type: "object",
      required: ["node", "task", "kind"],
      properties: { node: { type: "string", minLength: 1 }, task: { type: "string", minLength: 1 }, kind: { enum: ["cancel", "followup"] } },
    },
    body: {
      type: "object",
      additionalProperties: false,
      properties: {
        message: { type: "string", minLength: 1 },
        replace: { type: "boolean" },
        sender: { type: "string", minLength: 1 },
        reason: { type: "string" },
      },
    },
    async handle({ query, body: given }, reply) {
      const { node, task, kind } = query as { node: string; task: string; kind: TaskAction["kind"] };
      const { status, body } = await daemons.at(node).act({ task, kind, body: given as TaskAction["body"] });
      reply.status(status);
      return body;
    },
  };
}
