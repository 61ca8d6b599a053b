import type { AgentTools, HttpRoute, PluginContext } from "@svc/sdk";
import { svcError } from "@svc/sdk";

/** Requests of all callers that are answered at once. */
const MOST_CALLS = 64;
const MAX_BYTES = 1_048_576;

/**
 * `POST /mcp/:agent`: an agent's tools as an MCP server over streamable HTTP, for programs elsewhere. Each request is answered by itself:
 * there is no session, so that any of several daemons can answer and a restart ends none. Who calls holds a token with the scope
 * `mcp:<agent>` or `mcp:*`; also on this machine, since what reaches it here may be a page of a browser.
 */
export function mcpRoute({ agents, tools, log }: Pick<PluginContext, "agents" | "log"> & { readonly tools: AgentTools }): HttpRoute {
  let underWay = 0;
  return {
    method: "POST",
    path: "/mcp/:agent",
    guard: "scope:mcp::agent",
    maxBytes: MAX_BYTES,
    body: { anyOf: [{ type: "object", additionalProperties: true }, { type: "array" }] },
    async handle({ params, body, headers, signal }, reply) {
      const agent = params["agent"] as string;
      if (agents.get(agent) === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${agent}' here.`, { status: 404, field: "agent" });
      if (underWay >= MOST_CALLS) throw svcError("SVC_MCP_BUSY", `${MOST_CALLS} calls are under way; try again.`, { status: 503 });
      underWay += 1;
      try {
        const { answer } = await import("./http-answer.js");
        const { status, type, text, more } = await answer({ agent, tools, body, headers, signal, log });
        reply.status(status);
        for (const [name, value] of more) reply.header(name, value);
        if (typeof text === "string") return reply.send(text, type);
        const stream = reply.stream({ deferred: true });
        for await (const message of text) stream.event("message", message);
        stream.end();
      } finally {
        underWay -= 1;
      }
    },
  };
}

/** A server without sessions has none to listen to or to end: what the protocol says for it. */
export const noSessions = (method: "GET" | "DELETE"): HttpRoute => ({
  method,
  path: "/mcp/:agent",
  guard: "scope:mcp::agent",
  handle(_request, reply) {
    reply.status(405).header("allow", "POST");
    return { jsonrpc: "2.0", error: { code: -32_000, message: "This server keeps no sessions: only POST." }, id: null };
  },
});
