import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Envelope, type Message, type Plugin, type TaskEvent, type TaskResult, type Trace, type TurnContext } from "@svc/sdk";
import { afterEach, beforeEach, expect } from "vitest";
import models from "../../plugins/features/models/index.ts";
import orchestrator from "../../plugins/tiers/orchestrator/index.ts";
import sdk from "../../plugins/tiers/sdk/index.ts";
import { runKernel, temporaryFolder } from "../kit/kernel.ts";
import { type ModelServer, startModelServer } from "../peers/model-server.ts";

/** A fresh one for each test, which fails when a request was one that the real API would refuse. */
export let server: ModelServer;
beforeEach(async () => {
  server = await startModelServer();
});
afterEach(async () => {
  expect(server.refusals, "requests that the real API would refuse").toEqual([]);
  await server.close();
});

export const APIS = ["anthropic", "openai"] as const;
/** The section `providers`, with one entry that is the model server. */
export const providersOf = (api: (typeof APIS)[number], more: object = {}) => ({ mine: { api, endpoint: server.url, apiKey: "a-key", ...more } });

/** Adds what the context features would add, and an action that the test looks into. */
function surroundings(context: Partial<TurnContext>): { plugin: Plugin; calls: { input: unknown; call: object }[] } {
  const calls: { input: unknown; call: object }[] = [];
  const waiting: (() => void)[] = [];
  /** Comes back when two are here. */
  const meet = () =>
    new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 2) for (const go of waiting.splice(0)) go();
    });
  const plugin = definePlugin({
    kind: "feature",
    name: "surroundings",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      ctx.hooks.assembleContext.tap((built) => ({ ...built, ...context }));
      for (const name of ["math.add", "secret.read"])
        ctx.provide.action({
          name,
          description: "Adds.",
          input: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"], additionalProperties: false },
          output: { type: "number" },
          timeoutMs: 5_000,
          async run(input, { signal, ...call }) {
            calls.push({ input, call });
            if (input.a === 2) await meet();
            if (input.a === 404) throw new Error("no such number");
            return (input.a as number) + (input.b as number);
          },
        });
    },
  });
  return { plugin, calls };
}

/** A kernel with both tiers and an agent `a` on one of them, whose provider `mine` is the strict model server. */
export interface Stage {
  readonly kernel: Kernel;
  readonly events: readonly Envelope[];
  readonly calls: { input: unknown; call: object }[];
  ask(
    text: string,
    extra?: Partial<Message>,
    signal?: AbortSignal,
    listen?: (event: TaskEvent) => void,
  ): Promise<TaskResult & { heard: TaskEvent[]; trace: Trace }>;
}

export interface StageOptions {
  readonly providers?: object;
  readonly agent?: object;
  readonly context?: Partial<TurnContext>;
  readonly config?: object;
  readonly inline?: readonly unknown[];
}

/** Started; stopped after the test. */
export async function stage(tier: string, options: StageOptions = {}): Promise<Stage> {
  const { plugin, calls } = surroundings(options.context ?? {});
  const folder = await temporaryFolder();
  const { kernel, message, events } = await runKernel({
    folder,
    dataFolder: join(folder, ".svc"),
    agent: { tier, provider: "mine", model: "fake-1", ...options.agent },
    config: { providers: options.providers ?? providersOf("anthropic"), ...options.config },
    inline: [models, sdk, orchestrator, plugin, ...(options.inline ?? [])] as unknown as Plugin<never>[],
    env: { PATH: process.env.PATH ?? "" },
  });
  return {
    kernel,
    calls,
    events,
    async ask(text, extra = {}, signal, listen) {
      const heard: TaskEvent[] = [];
      const result = await kernel.tasks.run(
        message(text, extra),
        (event) => {
          heard.push(event);
          listen?.(event);
        },
        signal,
      );
      return { ...result, heard, trace: (await kernel.traces.get(result.taskId)) as Trace };
    },
  };
}

/** What was said, piece by piece. */
export const textsOf = (heard: readonly TaskEvent[]) => heard.flatMap((event) => (event.type === "text" ? [event.text] : []));
/** The tools used, as the trace has them. */
export const stepsOf = (trace: Trace) => trace.steps.filter(({ kind }) => kind === "tool");
