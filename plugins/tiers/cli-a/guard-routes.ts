import { type HttpRoute, type PluginContext, svcError } from "@svc/sdk";
import { type Autonomy, decide } from "./guard.ts";
import type { GuardLog } from "./guard-log.ts";
import type { Fields } from "./lines.ts";
import type { Section } from "./settings.ts";

interface Question {
  readonly agent: string;
  readonly autonomy: Autonomy;
  readonly tool: string;
  readonly input?: Fields;
  readonly taskId?: string;
}

/** `POST /guard/check`: the decision on one call, for programs on this machine. `GET /guard/log`: what was refused. */
export function guardRoutes(ctx: PluginContext<Section>, log: GuardLog): readonly HttpRoute[] {
  return [
    {
      method: "POST",
      path: "/guard/check",
      guard: "loopback",
      body: {
        type: "object",
        additionalProperties: false,
        required: ["agent", "autonomy", "tool"],
        properties: {
          agent: { type: "string" },
          autonomy: { enum: ["report", "propose", "act"] },
          tool: { type: "string", minLength: 1 },
          input: { type: "object" },
          taskId: { type: "string" },
        },
      },
      async handle(request) {
        const { agent, autonomy, tool, input = {}, taskId } = request.body as Question;
        const found = ctx.agents.get(agent);
        if (found === undefined) throw svcError("SVC_GUARD_AGENT", `There is no agent '${agent}'; see svc agent list.`, { status: 404, field: "agent" });
        const { allow, reason } = await decide(autonomy, { tool, input, workspace: found.workspace });
        if (!allow) await log.add({ agent, autonomy, tool, reason, ...(taskId === undefined ? {} : { taskId }) });
        return { decision: allow ? "allow" : "deny", reason };
      },
    },
    {
      method: "GET",
      path: "/guard/log",
      guard: "loopback",
      query: { type: "object", additionalProperties: false, properties: { limit: { type: "string", pattern: "^([1-9]\\d{0,2}|1000)$" } } },
      handle: async (request) => ({ entries: await log.tail(Number(request.query.limit ?? 50)) }),
    },
  ];
}
