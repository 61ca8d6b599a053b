import type { HttpRequest, HttpRoute, ToolCall } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** Claims of the tools server about where it runs: unverified statements of a program on this machine. */
const CLAIMS = { task: "x-svc-task", session: "x-svc-session", pid: "x-svc-pid" } as const;
/** Longer than any id; longer values are ignored. */
const LONGEST_CLAIM = 200;

/** `GET /agents/:id/tools`: tools that the tools server offers to this agent: name, description and input schema. */
export function toolsRoute(kernel: Pick<Kernel, "agents" | "tools">): HttpRoute {
  return {
    method: "GET",
    path: "/agents/:id/tools",
    summary: "The tools that an agent has",
    guard: "loopback",
    async handle({ params }) {
      const agent = params.id as string;
      requireAgent(kernel, agent);
      return { tools: (await kernel.tools(agent)).map(({ name, description, input }) => ({ name, description, input })) };
    },
  };
}

/** `POST /agents/:id/tools/:name`: runs a tool in the agent's name with the body as its input; answers `{text}`. */
export function runToolRoute(kernel: Pick<Kernel, "agents" | "runTool">): HttpRoute {
  return {
    method: "POST",
    path: "/agents/:id/tools/:name",
    summary: "Runs a tool for an agent",
    guard: "loopback",
    body: { type: "object", additionalProperties: true },
    async handle({ params, body, headers, signal }) {
      const agent = params.id as string;
      requireAgent(kernel, agent);
      return { text: await kernel.runTool(params.name as string, body as Record<string, unknown>, { agent, ...claimsOf(headers), signal }) };
    },
  };
}

function requireAgent(kernel: Pick<Kernel, "agents">, agent: string): void {
  if (kernel.agents.get(agent) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent });
}

/** Reads the claims. A malformed one is ignored: the call continues without it. */
function claimsOf(headers: HttpRequest["headers"]): Pick<ToolCall, "taskId" | "session" | "pid"> {
  const claim = (name: string) => {
    const value = headers[name];
    return typeof value === "string" && value.length <= LONGEST_CLAIM && /^[\w.:@-]+$/.test(value) ? value : undefined;
  };
  const [taskId, session, pid] = [claim(CLAIMS.task), claim(CLAIMS.session), Number(claim(CLAIMS.pid))];
  return {
    ...(taskId === undefined ? {} : { taskId }),
    ...(session === undefined ? {} : { session }),
    ...(Number.isSafeInteger(pid) && pid > 0 ? { pid } : {}),
  };
}
