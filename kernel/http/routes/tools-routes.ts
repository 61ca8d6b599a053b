import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /agents/:id/tools`: what the tools server offers to this agent: name, description and input schema. */
export function toolsRoute(kernel: Pick<Kernel, "agents" | "tools">): HttpRoute {
  return {
    method: "GET",
    path: "/agents/:id/tools",
    guard: "loopback",
    handle({ params }) {
      requireAgent(kernel, params.id as string);
      return { tools: kernel.tools().map(({ name, description, input }) => ({ name, description, input })) };
    },
  };
}

/** `POST /agents/:id/tools/:name`: runs a tool in the agent's name with the body as its input; answers `{text}`. */
export function runToolRoute(kernel: Pick<Kernel, "agents" | "runTool">): HttpRoute {
  return {
    method: "POST",
    path: "/agents/:id/tools/:name",
    guard: "loopback",
    body: { type: "object", additionalProperties: true },
    async handle({ params, body, signal }) {
      const agent = params.id as string;
      requireAgent(kernel, agent);
      return { text: await kernel.runTool(params.name as string, body as Record<string, unknown>, { agent, signal }) };
    },
  };
}

function requireAgent(kernel: Pick<Kernel, "agents">, agent: string): void {
  if (kernel.agents.get(agent) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent });
}
