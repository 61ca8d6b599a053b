import type { Agents, HttpRoute } from "@svc/sdk";
import type { Daemons } from "./daemons.ts";
import { fail } from "./errors.ts";

interface Body {
  readonly message: string;
  readonly context?: { readonly chatId?: string; readonly sender?: string };
}

/**
 * `POST /api/public/agents/:agentId/messages` (000:L207): a message to a public agent, answered when the agent has finished, in the
 * words of `POST /task` as JSON. The order of refusals is AUTH-02's: 401, 403 scope, 404, 403 private, 400, 502.
 */
export function publicMessagesRoute(daemons: Daemons, agents: Agents): HttpRoute {
  return {
    server: "dashboard",
    method: "POST",
    path: "/api/public/agents/:agentId/messages",
    guard: "scope:agent::agentId",
    body: {
      type: "object",
      required: ["message"],
      additionalProperties: false,
      properties: {
        message: { type: "string", minLength: 1 },
        context: {
          type: "object",
          // A caller that was written for POST /task may send a channel; it counts for nothing here (API-05).
          additionalProperties: true,
          properties: { chatId: { type: "string", minLength: 1, maxLength: 200 }, sender: { type: "string", minLength: 1, maxLength: 200 } },
        },
      },
    },
    before({ params }) {
      const id = params.agentId as string;
      const agent = agents.get(id);
      if (agent === undefined) throw fail("SVC_DASHBOARD_AGENT_UNKNOWN", { agent: id });
      if (agent.access !== "public") throw fail("SVC_DASHBOARD_AGENT_PRIVATE", { agent: id });
    },
    handle({ params, body, caller }) {
      const { message, context: { chatId = "default", sender } = {} } = body as Body;
      return daemons.main.run({
        agent: params.agentId as string,
        text: message,
        chat: chatId,
        token: caller.token?.id ?? "",
        ...(sender === undefined ? {} : { sender }),
      });
    },
  };
}
