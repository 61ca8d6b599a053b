import { type Agent, definePlugin, reasonOf } from "@svc/sdk";
import type { Finished, Progress } from "./code-protocol.ts";
import { CODE_TOOL, type CodeDesk } from "./code-tool.ts";

const LOOK_EVERY_MS = 60_000;
/** A start has better things to do first. */
const FIRST_LOOK_MS = 2_000;
/** A run rests for this many times as long as it took, so that a huge workspace does not keep the disk busy. */
const REST = 20;
const REST_AFTER_FAILURE_MS = 30 * 60_000;

interface Run {
  readonly done: Promise<Finished>;
  readonly listeners: Set<(progress: Progress) => void>;
}

/**
 * A code index (001:L48): for agents with `codeindex`, what the code of their workspace defines and where it is used, kept in line with the
 * files in the background, in a thread of its own. The index lies in the plugin's own folder and can be deleted at any time.
 */
export default definePlugin({
  kind: "feature",
  name: "codeindex",
  version: "0.1.0",
  svc: "^0.1.0",
  agentConfig: {
    type: "object",
    properties: {
      codeindex: { type: "boolean", default: false, description: "index the workspace in the background: its code for svc_code, its words for rag.lexical" },
    },
  },
  capabilities: ["agents", "files", "jobs", "routes"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    let made: Promise<CodeDesk> | undefined;
    const desk = () => {
      made ??= Promise.all([import("./code-tool.js"), import("./code-thread.js")]).then(([{ codeDesk }, { createCodeThread }]) =>
        codeDesk(ctx, createCodeThread()),
      );
      return made;
    };
    const runs = new Map<string, Run>();
    const notBefore = new Map<string, number>();
    const wanted = (agent: Agent | undefined): agent is Agent => agent?.settings["codeindex"] === true;

    /** One run an agent at a time: who asks meanwhile joins it. */
    const index = (agent: Agent, listener?: (progress: Progress) => void): Promise<Finished> => {
      let run = runs.get(agent.id);
      if (run === undefined) {
        const listeners: Run["listeners"] = new Set();
        const work = async () => {
          const { thread, placesOf } = await desk();
          const finished = await thread.ask({ op: "index", ...(await placesOf(agent)) }, (progress) => {
            for (const hear of listeners) hear(progress);
          });
          notBefore.set(agent.id, performance.now() + finished.durationMs * REST);
          return finished;
        };
        run = { done: work().finally(() => runs.delete(agent.id)), listeners };
        runs.set(agent.id, run);
      }
      const { done, listeners } = run;
      if (listener === undefined) return done;
      listeners.add(listener);
      return done.finally(() => listeners.delete(listener));
    };

    const refresh = async () => {
      for (const agent of ctx.agents.list()) {
        if (!wanted(agent) || runs.has(agent.id) || performance.now() < (notBefore.get(agent.id) ?? 0)) continue;
        try {
          await index(agent);
        } catch (error) {
          if (ctx.signal.aborted) return;
          // A file that a grammar broke on is passed over the next time.
          const again = (error as { reason?: string }).reason === "BROKEN";
          if (!again) notBefore.set(agent.id, performance.now() + REST_AFTER_FAILURE_MS);
          ctx.log.warn(
            { agent: agent.id, reason: reasonOf(error) },
            `the code index was not brought up to date; tried again ${again ? "in a minute" : "in half an hour"}`,
          );
        }
      }
    };

    ctx.provide.tool({
      ...CODE_TOOL,
      for: (agent) => wanted(ctx.agents.get(agent)),
      async run(input, { agent }) {
        const { runCodeTool } = await import("./code-tool.js");
        return runCodeTool(await desk(), input, agent);
      },
    });

    ctx.provide.route({
      method: "POST",
      path: "/api/agents/:id/code-index",
      guard: "peer",
      async handle(request, reply) {
        const agent = (await desk()).agentOf(request.params["id"] ?? "");
        if (!String(request.headers["accept"] ?? "").includes("text/event-stream")) return { agent: agent.id, ...(await index(agent)) };
        const stream = reply.stream();
        try {
          const finished = await index(agent, (progress) => void stream.event("progress", progress));
          stream.event("done", { agent: agent.id, ...finished });
        } catch (error) {
          const { message, code } = error as { message: string; code?: string };
          stream.event("error", { error: message, ...(code === undefined ? {} : { code }) });
        } finally {
          stream.end();
        }
        return undefined;
      },
    });

    return {
      async start() {
        ctx.jobs.after(FIRST_LOOK_MS, () => void refresh());
        ctx.jobs.every(LOOK_EVERY_MS, refresh);
      },
      stop: async () => (await made)?.thread.stop(),
    };
  },
});
