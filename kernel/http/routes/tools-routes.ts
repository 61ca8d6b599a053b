import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { KernelPort } from "../../core/boot/kernel-port.ts";

/** `GET /agents/:id/tools`: what the tools server (`svc mcp`) offers to this agent: name, description and input schema. */
export function toolsRoute(port: KernelPort): HttpRoute {
  return {
    method: "GET",
    path: "/agents/:id/tools",
    guard: "loopback",
    handle({ params }) {
      requireAgent(port, params.id as string);
      return { tools: port.tools().map(({ name, description, input }) => ({ name, description, input })) };
    },
  };
}

/** `POST /agents/:id/tools/:name`: runs a tool in the agent's name with the body as its input; answers `{text}`. */
export function runToolRoute(port: KernelPort): HttpRoute {
  return {
    method: "POST",
    path: "/agents/:id/tools/:name",
    guard: "loopback",
    body: { type: "object", additionalProperties: true },
    async handle({ params, body, signal }) {
      const agent = params.id as string;
      requireAgent(port, agent);
      return { text: await port.runTool(params.name as string, body as Record<string, unknown>, { agent, signal }) };
    },
  };
}

function requireAgent(port: KernelPort, agent: string): void {
  if (port.agents.get(agent) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent });
}
