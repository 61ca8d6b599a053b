import { type Agent, definePlugin, svcError } from "@svc/sdk";
import type { IndexThread } from "./client.ts";
import type { Finished, Progress } from "./indexer.ts";

const LOOK_EVERY_MS = 60_000;
/** A start has better things to do first. */
const FIRST_LOOK_MS = 2_000;
/** A refresh rests for this many times as long as it took, so that a huge workspace does not keep the disk busy. */
const REST = 30;
const REST_AFTER_FAILURE_MS = 30 * 60_000;
const TELL_EVERY_MS = 250;

interface Run {
  readonly done: Promise<Finished>;
  readonly listeners: Set<(progress: Progress) => void>;
}

const nameOf = (agent: string) => `${agent}.db`;

/**
 * `rag.lexical` (000:L92): BM25 over the words of an agent's workspace, from an index that `POST /api/agents/:id/index` builds and that
 * is kept fresh once it is there; for agents with `codeindex` it is built without being asked for. No model, no key. The index lies in the plugin's own folder and can be deleted at any time.
 */
export default definePlugin({
  kind: "action",
  name: "rag-lexical",
  version: "0.1.0",
  svc: "^0.1.0",
  capabilities: ["agents", "files", "jobs", "routes"],
  answers: () => import("./answers.js"),
  setup(ctx) {
    const thread = laterThread();
    const runs = new Map<string, Run>();
    const notBefore = new Map<string, number>();
    // The plugin's own folder does not move: asking the disk again would cost more than a search for a rare word.
    const files = new Map<string, string>();
    const fileOf = async (agent: string): Promise<string> => {
      const file = files.get(agent) ?? (await ctx.files.own.resolve(nameOf(agent)));
      files.set(agent, file);
      return file;
    };

    const agentOf = (id: string): Agent => {
      const agent = ctx.agents.get(id);
      if (!agent) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${id}'; see svc agent list.`, { status: 404, field: "agentId" });
      return agent;
    };

    /** One run an agent at a time: who asks meanwhile joins it. */
    const index = (agent: Agent, listener?: (progress: Progress) => void): Promise<Finished> => {
      let run = runs.get(agent.id);
      if (!run) {
        const listeners: Run["listeners"] = new Set();
        const tell = (progress: Progress) => {
          for (const hear of listeners) hear(progress);
        };
        const work = async () => {
          const { indexWorkspace } = await import("./indexer.js");
          const { own } = ctx.files;
          const workspace = ctx.files.under(agent.workspace);
          const finished = await indexWorkspace({ workspace, own, name: nameOf(agent.id), thread, signal: ctx.signal, tell });
          notBefore.set(agent.id, performance.now() + finished.durationMs * REST);
          return finished;
        };
        run = { done: work().finally(() => runs.delete(agent.id)), listeners };
        runs.set(agent.id, run);
      }
      const { done, listeners } = run;
      if (!listener) return done;
      listeners.add(listener);
      return done.finally(() => listeners.delete(listener));
    };

    const wanted = (agent: Agent) => agent.settings["codeindex"] === true;

    const refresh = async () => {
      const present = new Set((await ctx.files.own.list(".").catch(() => [])).map(({ name }) => name));
      for (const agent of ctx.agents.list()) {
        if (!(present.has(nameOf(agent.id)) || wanted(agent)) || runs.has(agent.id) || performance.now() < (notBefore.get(agent.id) ?? 0)) continue;
        try {
          await index(agent);
        } catch (error) {
          if (ctx.signal.aborted) return;
          notBefore.set(agent.id, performance.now() + REST_AFTER_FAILURE_MS);
          ctx.log.warn({ agent: agent.id, err: error }, "the index could not be refreshed");
        }
      }
    };

    ctx.provide.action({
      name: "rag.lexical",
      description: "Search the files of an agent's workspace by words and return the best places: path, line, score and snippet.",
      input: {
        type: "object",
        properties: {
          agentId: { type: "string", description: "Whose workspace.", minLength: 1 },
          query: { type: "string", description: "Words to look for; a place need not hold all of them.", minLength: 1, maxLength: 2000 },
          limit: { type: "integer", description: "At most this many places.", minimum: 1, maximum: 100, default: 10 },
        },
        required: ["agentId", "query"],
        additionalProperties: false,
      },
      output: {
        type: "object",
        properties: {
          results: {
            type: "array",
            description: "Best first.",
            items: {
              type: "object",
              properties: {
                path: { type: "string", description: "From the workspace." },
                line: { type: "integer", minimum: 1 },
                score: { type: "number", description: "BM25; larger fits better." },
                snippet: { type: "string" },
              },
              required: ["path", "line", "score", "snippet"],
              additionalProperties: false,
            },
          },
        },
        required: ["results"],
        additionalProperties: false,
      },
      timeoutMs: 30_000,
      restricted: true,
      async run(input, { signal, agent: asker, autonomy = "act" }) {
        const { agentId, query, limit = 10 } = input as { agentId: string; query: string; limit?: number };
        if (autonomy !== "act" && agentId !== asker)
          throw svcError("SVC_INDEX_FOREIGN", `This run may only ${autonomy}, and search the index of its own agent alone.`, { status: 403, field: "agentId" });
        const agent = agentOf(agentId);
        const { toMatch } = await import("./query.js");
        const match = toMatch(query);
        if (match === undefined)
          throw svcError("SVC_INDEX_QUERY", `There is no word to look for in ${JSON.stringify(query)}.`, { status: 400, field: "query" });
        const results = await thread.ask({ op: "search", file: await fileOf(agentId), match, limit });
        signal.throwIfAborted();
        if (results === null) {
          const next = wanted(agent) ? "it is built soon, try again then, or build it now with" : "build it with";
          throw svcError("SVC_INDEX_MISSING", `Agent ${agentId} has no index yet; ${next}: svc agent index ${agentId}`, { status: 409 });
        }
        return { results };
      },
    });

    ctx.provide.route({
      method: "POST",
      path: "/api/agents/:id/index",
      guard: "peer",
      async handle(request, reply) {
        const agent = agentOf(request.params["id"] ?? "");
        if (!String(request.headers["accept"] ?? "").includes("text/event-stream")) return { agent: agent.id, ...(await index(agent)) };
        const stream = reply.stream();
        let toldAt = 0;
        try {
          const finished = await index(agent, (progress) => {
            const now = performance.now();
            if (now - toldAt < TELL_EVERY_MS) return;
            toldAt = now;
            stream.event("progress", progress);
          });
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
      stop: () => thread.stop(),
    };
  },
});

/** The index thread, whose code is read with its first question. */
function laterThread(): IndexThread {
  let thread: IndexThread | undefined;
  return {
    async ask(question) {
      if (thread === undefined) {
        const { createIndexThread } = await import("./client.ts");
        thread ??= createIndexThread();
      }
      return thread.ask(question);
    },
    stop: async () => thread?.stop(),
  };
}
