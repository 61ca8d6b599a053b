import { definePlugin, reasonOf, tierFailure } from "@svc/sdk";
import type { A2aSettings } from "./settings.ts";
import { AGENT, settingsOf } from "./settings.ts";

const PROBE_MS = 10_000;

/** Agents that are somebody else's A2A server. */
export default definePlugin({
  kind: "tier",
  name: "a2a",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: AGENT,
  checkAgent: (agent) =>
    agent["tier"] === "a2a" && agent["a2a"] === undefined
      ? [{ path: "a2a.url", message: "is missing: the tier a2a needs the address of the server that answers", severity: "error" }]
      : [],
  capabilities: ["env:*", "fetch"],
  setup(ctx) {
    const connect = async (settings: A2aSettings) => {
      const { Remote } = await import("./remote.js");
      return new Remote({ settings, fetch: ctx.fetch, token: settings.tokenEnv === undefined ? undefined : ctx.env(settings.tokenEnv) });
    };
    ctx.provide.tier({
      name: "a2a",
      abilities: { nativeSessions: true, sessionsAnywhere: true },
      async *run(turn, context, signal) {
        const settings = settingsOf(turn.agent);
        if (settings === undefined) return yield tierFailure("no-endpoint", `agents.${turn.agent.id}.a2a.url is not set`);
        if (settings.tokenEnv !== undefined && ctx.env(settings.tokenEnv) === undefined)
          return yield tierFailure("no-key", `the environment variable ${settings.tokenEnv} is not set (agents.${turn.agent.id}.a2a.tokenEnv)`);
        const { runTurn } = await import("./run.js");
        yield* runTurn(await connect(settings), turn.id, context, signal);
      },
      async probe(agent) {
        const settings = agent === undefined ? undefined : settingsOf(agent);
        if (settings === undefined) return { ok: true, detail: "each agent's server decides" };
        try {
          const { address, streaming } = await (await connect(settings)).card(AbortSignal.timeout(PROBE_MS));
          return { ok: true, detail: `${new URL(address).origin} answers${streaming ? " and streams" : ""}` };
        } catch (error) {
          return { ok: false, detail: reasonOf(error) };
        }
      },
    });
  },
});
