import { definePlugin, type Lifecycle, type Turn, type TurnContext } from "@svc/sdk";
import type { Coordinator } from "./coordinator.ts";
import { attachRoutes } from "./routes.ts";
import { attachTools } from "./tools.ts";

/**
 * A session has the rights of the person at its terminal: it only gets messages with full autonomy, and none from the public endpoint, whose senders
 * are unknown. Scheduled jobs and typed answers stay with the agent's engine.
 */
const isForPerson = ({ messages, route }: Turn): boolean =>
  route.node === undefined &&
  messages.every(
    ({ entry, options = {} }) => entry !== "public" && (options.autonomy ?? "act") === "act" && options.scheduled !== true && options.output === undefined,
  );

/** An interactive coding session of a person on this machine wears an agent: it takes the agent's messages and answers them. Nothing is read before the first one. */
export default definePlugin({
  kind: "feature",
  name: "attach",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "data-folder", "files", "jobs", "routes", "store"],
  answers: () => import("./answers.js"),
  setup(ctx): Lifecycle {
    let opening: Promise<Coordinator> | undefined;
    /** Whether some session wears an agent; unknown until it is first asked. */
    let bound: boolean | undefined;

    const coordinator = () => (opening ??= import("./open-coordinator.js").then(({ openCoordinator }) => openCoordinator(ctx)));

    async function take(turn: Turn, context: TurnContext, signal: AbortSignal) {
      bound ??= (await ctx.store.collection("bindings").count()) > 0;
      if (!bound && turn.messages[0].attempts === 0) return undefined;
      return (await coordinator()).take(turn, context, signal);
    }

    ctx.hooks.dispatch.tap((turn, context, call) =>
      (bound === false && turn.messages[0].attempts === 0) || !isForPerson(turn) ? undefined : take(turn, context, call.signal),
    );
    ctx.provide.service("attachments", {
      async list() {
        bound ??= (await ctx.store.collection("bindings").count()) > 0;
        if (!bound) return [];
        const { listSessions } = await import("./hand-out.js");
        const sessions = await listSessions(await coordinator());
        return sessions.flatMap(({ agent, mode = "manual", program }) => (agent === undefined ? [] : [{ agent, mode, program }]));
      },
    });
    for (const route of attachRoutes(ctx.agents, coordinator, () => (bound = true))) ctx.provide.route(route);
    for (const tool of attachTools(() => ctx.files.data, coordinator)) ctx.provide.tool(tool);
    return {
      async stop() {
        await (await opening)?.close();
      },
    };
  },
});
