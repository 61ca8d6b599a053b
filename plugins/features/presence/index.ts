import { codeOf, definePlugin, type HttpRoute } from "@svc/sdk";
import { type SaidRow, shownOf } from "./presence.ts";
import { AGENT } from "./settings.ts";
import { presenceTool } from "./tool.ts";

/** Presentation of agents to people: a colour, a letter, a label, and whether they act or teach (001:L79). */
export default definePlugin({
  kind: "feature",
  name: "presence",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  capabilities: ["agents", "events", "routes", "store"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    ctx.provide.tool(presenceTool(ctx));
    const handle = async () => {
      const said = ctx.store.collection<SaidRow>("said");
      const shown = ctx.agents.list().map(async (agent) => shownOf(agent, (await said.get(agent.id))?.value));
      return { presence: await Promise.all(shown) };
    };
    ctx.provide.route({ method: "GET", path: "/presence", guard: "loopback", handle });
    const page: HttpRoute = { method: "GET", path: "/api/presence", guard: "scope:dashboard:read", server: "dashboard", handle };
    try {
      ctx.provide.route(page);
    } catch (error) {
      // No plugin here has the dashboard's scopes: there is no dashboard.
      if (codeOf(error) !== "SVC_HTTP_ROUTE") throw error;
    }
  },
});
