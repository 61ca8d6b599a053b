import { type Agent, type Autonomy, type HttpRoute, type PluginContext, svcError } from "@svc/sdk";
import type { Fields } from "@svc/sdk/engine";
import type { Decision, GuardedCall, Level } from "./guard.ts";
import type { GuardLog } from "./guard-log.ts";
import type { Section } from "./settings.ts";

interface Question {
  readonly agent: string;
  readonly autonomy: Autonomy;
  readonly tool: string;
  readonly input?: Fields;
  readonly taskId?: string;
}

/** The same judge as in a run: what a run of this agent would be told here and now. */
export type Judge = (agent: Agent, autonomy: "report" | "propose", call: GuardedCall) => Promise<Decision & { readonly guard: Level["kind"] }>;

/** `POST /guard/check`: the decision on one call, for programs on this machine. `GET /guard/log`: what was refused. */
export function guardRoutes(ctx: PluginContext<Section>, log: GuardLog, judge: Judge): readonly HttpRoute[] {
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
        if (autonomy === "act") return { decision: "allow", reason: "" };
        const { allow, reason, guard } = await judge(found, autonomy, { tool, input });
        if (!allow) await log.add({ agent, autonomy, tool, reason, guard, ...(taskId === undefined ? {} : { taskId }) });
        return { decision: allow ? "allow" : "deny", reason, guard };
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
