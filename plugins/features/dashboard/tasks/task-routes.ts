import type { Agents, Envelope, HttpRoute, PluginContext, Trace } from "@svc/sdk";
import { fail } from "../errors.ts";
import type { AgentChats } from "./agent-chat.ts";
import type { StoredContext, TaskContexts } from "./task-contexts.ts";
import { FILTER, readFilter } from "./task-filter.ts";
import type { TaskState } from "./task-row.ts";
import type { SeriesRange, TaskSeries } from "./task-series.ts";

/** One task with everything that is known of it. */
export interface TaskView {
  readonly trace: Trace;
  readonly state: TaskState;
  /** Context of the agent; absent after its retention. */
  readonly context?: StoredContext;
  /** The next older task of the same list. */
  readonly older?: string;
}

/** Events that have happened, the newest first. */
export interface PastEvents {
  readonly events: readonly Envelope[];
}

type Sources = Pick<PluginContext, "agents" | "tasks" | "traces" | "events" | "services" | "store" | "log" | "signal" | "hooks">;

const EVENTS = 200;
const TEXT = { type: "string", minLength: 1, maxLength: 200_000 } as const;
const NAME = { type: "string", minLength: 1, maxLength: 200 } as const;

/** The routes of the pages of tasks, under `/api/tasks`, and of the chats, under `/api/chat`. What answers them is loaded by the first call. */
export function taskRoutes(ctx: Sources): readonly HttpRoute[] {
  let series: Promise<TaskSeries> | undefined;
  let contexts: Promise<TaskContexts> | undefined;
  let chats: Promise<AgentChats> | undefined;
  const openContexts = () =>
    (contexts ??= import("./task-contexts.js")
      .then(({ TaskContexts }) => new TaskContexts(ctx))
      .catch((error) => {
        contexts = undefined;
        throw error;
      }));
  const openChats = () => (chats ??= import("./agent-chat.js").then(({ AgentChats }) => new AgentChats(ctx)));
  // The context of a turn is there once.
  ctx.hooks.assembleContext.tap(
    (context, turn) => {
      openContexts().then(
        (open) => open.keep(context, turn),
        // A daemon that stops has closed its store by then.
        (error) => ctx.signal.aborted || ctx.log.warn({ err: error, task: turn.id }, "the context of a task was not kept for its page"),
      );
      return context;
    },
    { stage: 1_000 },
  );

  async function traceOf(id: string): Promise<Trace> {
    const trace = await ctx.traces.get(id);
    if (trace === undefined) throw fail("SVC_DASHBOARD_TRACE_UNKNOWN", { task: id });
    return trace;
  }

  return [
    {
      ...read("/api/tasks"),
      query: { type: "object", properties: { ...FILTER, below: { type: "string", minLength: 1 }, limit: { type: "integer", minimum: 1, maximum: 200 } } },
      async handle({ query: { below, limit, ...filter } }) {
        const { listPage } = await import("./task-list.js");
        return listPage(ctx, readFilter(filter), {
          ...(below === undefined ? {} : { below }),
          ...(limit === undefined ? {} : { limit: Number(limit) }),
        });
      },
    },
    {
      ...read("/api/tasks/marks"),
      query: { type: "object", properties: FILTER },
      handle: async ({ query }) => (await import("./task-list.js")).listMarks(ctx, readFilter(query)),
    },
    { ...read("/api/tasks/now"), handle: async () => (await import("./task-now.js")).tasksNow(ctx) },
    { ...read("/api/tasks/agents"), handle: async () => ({ agents: await (await import("./task-now.js")).agentsNow(ctx) }) },
    {
      ...read("/api/tasks/series"),
      query: { type: "object", properties: { range: { enum: ["1h", "24h", "7d"] } } },
      async handle({ query: { range = "1h" } }) {
        series ??= import("./task-series.js").then(({ TaskSeries }) => new TaskSeries(ctx));
        return (await series).look(range as SeriesRange);
      },
    },
    { ...read("/api/tasks/events"), handle: (): PastEvents => ({ events: ctx.events.page(() => true, undefined, EVENTS).events.toReversed() }) },
    {
      ...read("/api/tasks/:id"),
      query: { type: "object", properties: FILTER },
      async handle({ params, query }): Promise<TaskView> {
        const trace = await traceOf(params.id as string);
        const [{ stateOf, workingOf }, { listPage }, context] = await Promise.all([
          import("./task-row.js"),
          import("./task-list.js"),
          openContexts().then((open) => open.get(trace.lead ?? trace.id)),
        ]);
        const older = (await listPage(ctx, readFilter(query), { below: trace.id, limit: 1 })).tasks[0]?.id;
        return {
          trace,
          state: stateOf(trace, workingOf(ctx.tasks.running(), ctx.tasks.queued()).get(trace.id)),
          ...(context === undefined ? {} : { context }),
          ...(older === undefined ? {} : { older }),
        };
      },
    },
    {
      ...write("/api/tasks/:id/stop"),
      async handle({ params }) {
        const task = params.id as string;
        if (!(await ctx.tasks.cancel(task))) throw fail("SVC_DASHBOARD_TASK_UNKNOWN", { task });
        return { taskId: task };
      },
    },
    {
      ...write("/api/tasks/:id/replay"),
      body: { type: "object", additionalProperties: false, properties: { message: TEXT, agent: NAME, strategy: NAME } },
      async handle({ params, body, caller }) {
        const change = body as { readonly message?: string; readonly agent?: string; readonly strategy?: string };
        const trace = await traceOf(params.id as string);
        requireAgent(ctx.agents, change.agent ?? trace.agent);
        return (await openChats()).replay(trace, change, caller);
      },
    },
    {
      ...read("/api/chat/:agent"),
      query: { type: "object", properties: { chat: NAME } },
      async handle({ params, query, caller }) {
        requireAgent(ctx.agents, params.agent as string);
        return (await openChats()).view(params.agent as string, caller, query.chat);
      },
    },
    {
      ...write("/api/chat/:agent"),
      body: { type: "object", additionalProperties: false, required: ["text", "chat"], properties: { text: TEXT, chat: NAME, replace: NAME } },
      async handle({ params, body, caller }) {
        requireAgent(ctx.agents, params.agent as string);
        const { text, chat, replace } = body as { readonly text: string; readonly chat: string; readonly replace?: string };
        return (await openChats()).say(params.agent as string, text, chat, caller, replace);
      },
    },
    {
      ...read("/api/chat/:agent/:task/stream"),
      async handle({ params }, reply) {
        await traceOf(params.task as string);
        await (await openChats()).attach(params.task as string, reply.stream());
      },
    },
  ];
}

function requireAgent(agents: Agents, agent: string): void {
  if (agents.get(agent) === undefined) throw fail("SVC_DASHBOARD_AGENT_UNKNOWN", { agent });
}

const read = (path: string) => ({ server: "dashboard", method: "GET", path, guard: "scope:dashboard:read" }) as const;
const write = (path: string) => ({ server: "dashboard", method: "POST", path, guard: "scope:dashboard:write" }) as const;
