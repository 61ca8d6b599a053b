import { definePlugin, type ObjectSchema, type TierEvent, type Turn, type TurnContext } from "@svc/sdk";
import type { echo } from "./echo.ts";
import type { LocalSettings } from "./settings.ts";
import type { Library } from "./workspace.ts";

const agentConfig: ObjectSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    local: {
      type: "object",
      description: "How the tier local answers.",
      additionalProperties: false,
      properties: {
        actions: {
          type: "array",
          items: { type: "string", minLength: 1 },
          default: [],
          description: "actions that people who write to the agent may run with /run, * for any characters; empty means none",
        },
        mode: {
          type: "string",
          enum: ["answer", "echo"],
          default: "answer",
          description: "answer: from the workspace; echo: say the message back, for tests and benchmarks",
        },
        chunks: { type: "integer", minimum: 1, maximum: 10_000, default: 3, description: "echo: in how many pieces" },
        delayMs: { type: "integer", minimum: 0, maximum: 600_000, default: 0, description: "echo: pause before each piece, in milliseconds" },
        step: { type: "boolean", default: false, description: "echo: show one tool step named echo-tool" },
        fail: { type: "string", description: "echo: end with an error of this text" },
      },
    },
  },
};

export default definePlugin({
  kind: "tier",
  name: "local",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig,
  capabilities: ["files", "actions", "agents"],
  setup(ctx) {
    let library: Library | undefined;
    let echoing: typeof echo | undefined;

    async function* firstEcho(...asked: Parameters<typeof echo>): AsyncIterable<TierEvent> {
      echoing = (await import("./echo.js")).echo;
      yield* echoing(...asked);
    }

    async function* answered(turn: Turn, context: TurnContext, signal: AbortSignal): AsyncIterable<TierEvent> {
      const [{ answer }, { createLibrary }] = await Promise.all([import("./answer.js"), import("./workspace.js")]);
      library ??= createLibrary(() => ctx.files, ctx.signal);
      yield* answer(ctx, library, turn, context, signal);
    }

    ctx.provide.tier({
      name: "local",
      run(turn, context, signal) {
        const settings = (turn.agent.settings.local ?? {}) as LocalSettings;
        return settings.mode === "echo" ? (echoing ?? firstEcho)(context.prompt, settings, signal) : answered(turn, context, signal);
      },
      probe: async () => ({ ok: true, detail: "always there" }),
    });
  },
});
