import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const amount: Schema = { type: "number", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const state: Schema = { type: "string", enum: ["running", "waiting", "queued", "ok", "failed", "timed-out", "cancelled"] };
/** Refers to the schema that a route of the daemon describes already. */
const like = (route: string): Schema => ({ type: "object", additionalProperties: true, description: `As ${route} of the daemon answers` });

const rowRequired = {
  id: text,
  state,
  agent: text,
  text: { type: "string", description: "The beginning of the message" },
  channel: text,
  chat: text,
  entry: text,
  startedAt: time,
} satisfies Record<string, Schema>;
const rowOptional = {
  node: text,
  sender: text,
  runId: text,
  durationMs: amount,
  tokens: count,
  cost: { type: "number", description: "US dollars" },
  error: text,
  errorKind: text,
} satisfies Record<string, Schema>;
const TaskRow = objectOf(rowRequired, rowOptional);

const step = objectOf({ name: text, kind: text, at: time }, { durationMs: amount, error: text, input: text });
const TaskNow = objectOf(
  { ...rowRequired, step: text, conversation: text, steps: listOf(step), more: { ...count, description: "Steps before those" } },
  {
    ...rowOptional,
    waits: { type: "string", description: "`conversation`, `slot <its place in the queue>`, or the words of a parked turn" },
    with: { ...listOf(text), description: "Tasks whose messages its turn answers, too; stopping one of them ends the turn for all" },
  },
);

const AgentNow = objectOf(
  { id: text, name: text, tier: text, access: { type: "string", enum: ["private", "public"] }, running: count, queued: count },
  {
    model: text,
    last: objectOf({ id: text, state, startedAt: time }, { durationMs: amount, error: text, errorKind: text }),
    broken: { type: "string", description: "Its engine cannot be used" },
    attached: objectOf({ mode: text, program: text }),
  },
);

const TaskSeries = objectOf(
  {
    range: { type: "string", enum: ["1h", "24h", "7d"] },
    from: time,
    to: time,
    stepMs: count,
    tasks: listOf(count),
    tokens: listOf(count),
    answer: listOf({ type: ["number", "null"], description: "Median milliseconds to the answer" }),
    errors: listOf(count),
    total: objectOf({ tasks: count, tokens: count, errors: count }, { median: amount, p95: amount }),
    lanes: listOf(
      objectOf({
        agent: text,
        tasks: count,
        failed: count,
        cancelled: count,
        spans: listOf(objectOf({ from: time, to: time, state, count, id: { type: "string", description: "The newest of its tasks" } })),
      }),
    ),
  },
  { knownFrom: { ...time, description: "How far back was read so far, where that is not all" } },
);

const part = objectOf(
  { name: text, text, characters: { ...count, description: "That the agent was given; more than the text where the copy is shortened" } },
  { whole: { ...count, description: "Characters before it was cut to fit" } },
);
const TaskContext = objectOf(
  {
    at: time,
    layers: listOf(part),
    system: part,
    prompt: part,
    history: listOf(objectOf({ role: { type: "string", enum: ["user", "assistant"] }, text })),
    historyCharacters: count,
    media: count,
  },
  { strategy: text, session: { type: "string", description: "The native session that went on" } },
);

const ChatTurn = objectOf({ id: text, at: time, said: text, state }, { answer: text, error: text, durationMs: amount, tokens: count, lead: text });

const task: RouteAnswer = { json: objectOf({ taskId: text }) };
const stream: readonly RouteAnswer[] = [{ type: "text/event-stream" }];
const daemon = objectOf({ name: text, url: text, ok: flag, agents: listOf(like("GET /agents")) }, { error: text });
const brief = objectOf(
  {
    id: text,
    agent: text,
    channel: text,
    chat: text,
    status: { type: "string", enum: ["in-flight", "ok", "error", "timeout"] },
    startedAt: time,
    messagePreview: text,
  },
  { sender: text, endedAt: time, durationMs: amount, error: text, errorKind: text, model: text, usage: like("GET /traces/{id} (usage)"), attempts: count },
);

/** Of the pages of tasks and chats, and of what they were before them. */
export default {
  schemas: {
    DashboardTask: TaskRow,
    DashboardTaskNow: TaskNow,
    DashboardAgent: AgentNow,
    TaskSeries,
    TaskContext,
    ChatTurn,
    DashboardDaemon: daemon,
    TaskBrief: brief,
  },
  routes: {
    "GET /api/live": [{ json: objectOf({ daemons: listOf(daemon), tasks: listOf(brief) }) }],
    "GET /api/live/stream": stream,
    "GET /api/agents": [{ json: objectOf({ agents: listOf(like("GET /agents")) }) }],
    "GET /api/task/history": [{ json: objectOf({ tasks: listOf(brief) }) }],
    "GET /api/task/stream": stream,
    "POST /api/task/action": [{ json: objectOf({ ok: { const: true }, taskId: text }, { rootId: text, replaced: flag }) }],
    "POST /api/public/agents/:agentId/messages": [{ json: like("POST /task, as JSON,") }],
    "GET /api/tasks": [{ json: objectOf({ tasks: listOf(TaskRow) }, { next: { type: "string", description: "The `below` of what follows" }, reached: time }) }],
    "GET /api/tasks/marks": [
      { json: objectOf({ page: count, marks: listOf({ type: "string", description: "The `below` of a page" }), at: time }, { total: count }) },
    ],
    "GET /api/tasks/now": [{ json: objectOf({ running: listOf(TaskNow), queued: listOf(TaskNow), slots: count, ended: listOf(TaskRow) }) }],
    "GET /api/tasks/agents": [{ json: objectOf({ agents: listOf(AgentNow) }) }],
    "GET /api/tasks/series": [{ json: TaskSeries }],
    "GET /api/tasks/events": [{ json: objectOf({ events: listOf(like("GET /events/recent (an event)")) }) }],
    "GET /api/tasks/:id": [
      {
        json: objectOf(
          { trace: like("GET /traces/{id}"), state },
          { context: TaskContext, older: { type: "string", description: "The next older task of the list" } },
        ),
      },
    ],
    "POST /api/tasks/:id/stop": [task],
    "POST /api/tasks/:id/replay": [task],
    "GET /api/chat/:agent": [{ json: objectOf({ agent: text, chat: text, turns: listOf(ChatTurn) }) }],
    "POST /api/chat/:agent": [task],
    "GET /api/chat/:agent/:task/stream": stream,
  },
} satisfies Answers;
