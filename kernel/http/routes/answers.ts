import { type Answers, listOf, objectOf, type RouteAnswer, recordOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const amount: Schema = { type: "number", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const date: Schema = { type: "string", format: "date-time" };
const yes: Schema = { const: true };
const any: Schema = {};
const texts = listOf(text);
const oneOf = (...values: string[]): Schema => ({ type: "string", enum: values });

const Usage = objectOf({ input: count, output: count }, { cacheRead: count, cacheCreate: count, cost: { type: "number", description: "US dollars" } });

const result = objectOf(
  { ok: flag, taskId: text, agent: text, reply: text, status: oneOf("ok", "error", "timeout"), durationMs: amount },
  {
    error: text,
    errorKind: { type: "string", description: "cancelled, timeout, interrupted, dropped, output, held, or the engine's own kind" },
    exitCode: { type: "integer" },
    usage: Usage,
    model: text,
    sessionId: text,
    output: { description: "The value of an answer that was asked for in a shape" },
    withheld: { type: "string", description: "The delivery that keeps the answer until somebody decides about it" },
    duplicate: { const: true, description: "The Idempotency-Key was seen before" },
  },
);

const TaskResult: Schema = { anyOf: [result, objectOf({ ok: flag, taskId: text, duplicate: yes })] };

const AskAnswer = objectOf({ agent: text, reply: text, taskId: text }, { ok: { const: false }, error: text, errorKind: text });

const task = { id: text, step: text, startedAt: time, channel: text, chat: text, conversation: text };
const collected = { with: { ...texts, description: "Tasks whose messages its turn answers, too; canceling one of them ends the turn for all" } };
const RunningTask = objectOf({ ...task, agent: text }, { node: text, ...collected });

const AgentSummary = objectOf(
  {
    id: text,
    name: text,
    tier: text,
    access: oneOf("private", "public"),
    mentions: texts,
    active: count,
    queued: count,
    runningTasks: listOf(objectOf(task, collected)),
  },
  { model: text },
);

const TierAbilities = objectOf({
  nativeSessions: flag,
  sessionsAnywhere: flag,
  autonomy: texts,
  permissionModes: texts,
  toolServers: flag,
  pictures: flag,
});

const AgentAbilities = objectOf(
  {
    id: text,
    name: text,
    tier: text,
    engine: objectOf({ ok: flag, detail: text }),
    nativeSessions: flag,
    enforcesAutonomy: flag,
    actions: texts,
    reportingActions: texts,
    tools: texts,
    intents: texts,
    mcpServers: texts,
    restrictions: recordOf(true),
  },
  { model: text, abilities: TierAbilities },
);

const ChannelTraits = objectOf(
  { maxChars: count, unit: oneOf("codepoint", "utf16", "utf8") },
  {
    lines: oneOf("many", "one"),
    markup: recordOf(true),
    dialect: text,
    editIntervalMs: amount,
    streams: yes,
    threads: flag,
    reactions: flag,
    ack: text,
    choices: yes,
    receives: { const: false },
    maxMediaBytes: count,
    keyed: flag,
  },
);

const ChannelStatus = objectOf(
  { name: text, plugin: text, state: oneOf("connecting", "ready", "down"), traits: ChannelTraits, testable: flag, unsent: count },
  { reason: text },
);

const Tool = objectOf({ name: text, description: text, input: recordOf(true) });

const Envelope = objectOf(
  { id: text, rootId: text, node: text, kind: text, type: text, at: date, summary: text },
  { parentId: text, agentId: text, ref: text, text, data: recordOf(true), source: text },
);

const ActionEnvelope = objectOf({ action: text, status: oneOf("ok", "error"), input: any, durationMs: amount }, { output: any, error: text });

const TraceStep = objectOf({ name: text, kind: text, at: time }, { durationMs: amount, input: text, output: text, error: text, envelope: ActionEnvelope });

const Trace = objectOf(
  {
    id: text,
    rootId: text,
    agent: text,
    channel: text,
    chat: text,
    conversation: text,
    entry: text,
    status: oneOf("in-flight", "ok", "error", "timeout"),
    startedAt: time,
    attempts: count,
    steps: listOf(TraceStep),
  },
  {
    account: text,
    thread: text,
    sender: text,
    runId: text,
    node: text,
    endedAt: time,
    durationMs: amount,
    message: text,
    messagePreview: text,
    tasks: texts,
    lead: text,
    response: text,
    output: any,
    withheld: text,
    error: text,
    errorKind: text,
    exitCode: { type: "integer" },
    model: text,
    sessionId: text,
    usage: Usage,
    autonomyBlocks: listOf(objectOf({ tool: text, reason: text })),
    guard: objectOf({ level: oneOf("wall", "narrow") }, { reason: text }),
    context: listOf(objectOf({ name: text, characters: count, hash: text })),
  },
);

const PluginStatus = objectOf(
  {
    id: text,
    state: oneOf("known", "disabled", "failed", "quarantined", "loaded", "running", "stopped"),
    source: oneOf("first-party", "package", "path", "inline"),
    provides: texts,
    hooks: texts,
    capabilities: texts,
    failures: count,
  },
  {
    version: text,
    reason: text,
    took: objectOf({ load: amount, setup: amount, start: amount }),
    isolation: objectOf(
      { state: oneOf("up", "waiting", "off"), starts: count, ends: count, dropped: count, walls: texts },
      { pid: count, lastEnd: text, again: time },
    ),
  },
);

const state = oneOf("starting", "running", "draining", "stopped");

const Health: Schema = {
  anyOf: [
    objectOf(
      {
        ok: flag,
        state,
        node: objectOf({ id: text, name: text }),
        version: text,
        pid: count,
        uptimeSeconds: count,
        tasks: objectOf({ running: count, queued: count }),
        plugins: listOf(PluginStatus),
        problems: texts,
      },
      { instance: text, folder: text, lastCrash: date },
    ),
    { ...objectOf({ ok: flag, state }), description: "To callers on other machines" },
  ],
};

const Readiness = objectOf({ ready: flag }, { state, reasons: texts });

const NodeAbout = objectOf({ version: text, troubles: texts, settings: recordOf(text) }, { instance: text, url: text, bind: text });

const StoreNode = objectOf(
  { name: text, boot: count, host: text, state: oneOf("alive", "draining", "silent", "dead"), beatMs: { type: "number" } },
  { pid: count, skewMs: { type: "number" }, running: count, holds: texts, about: NodeAbout },
);

const ReloadReport = objectOf({
  reloaded: flag,
  changed: texts,
  restartRequired: texts,
  failed: listOf(objectOf({ plugin: text, reason: text })),
});

const ok = (json: Schema): readonly RouteAnswer[] => [{ json }];
const stream: RouteAnswer = { type: "text/event-stream" };

const answers: Answers = {
  schemas: {
    ActionEnvelope,
    AgentAbilities,
    AgentSummary,
    AskAnswer,
    ChannelStatus,
    ChannelTraits,
    Envelope,
    Health,
    PluginStatus,
    Readiness,
    ReloadReport,
    RunningTask,
    NodeAbout,
    StoreNode,
    TaskResult,
    TierAbilities,
    Tool,
    Trace,
    TraceStep,
    Usage,
  },
  routes: {
    "GET /": [{ type: "text/plain" }],
    "GET /health": ok(Health),
    "GET /ready": [{ json: Readiness }, { status: 503, json: Readiness }],
    "GET /nodes": ok(objectOf({ nodes: listOf(StoreNode) })),
    "GET /openapi.json": ok(recordOf(true)),
    "POST /reload": ok(ReloadReport),
    "POST /restart": [{ status: 202, json: objectOf({ ok: yes, at: date }) }],
    "POST /task": [{ json: TaskResult }, stream],
    "POST /ask": ok(AskAnswer),
    "POST /send": ok(objectOf({ ok: yes, messageId: text })),
    "GET /api/tasks": ok(objectOf({ running: listOf(RunningTask), queued: listOf(RunningTask) })),
    "POST /api/tasks/:taskId/cancel": ok(objectOf({ ok: yes, taskId: text })),
    "POST /api/tasks/:taskId/followup": ok(objectOf({ ok: yes, taskId: text, rootId: text, replaced: flag })),
    "GET /agents": ok(objectOf({ agents: listOf(AgentSummary) })),
    "GET /agents/:id/capability": ok(AgentAbilities),
    "GET /agents/:id/tools": ok(objectOf({ tools: listOf(Tool) })),
    "POST /agents/:id/tools/:name": ok(objectOf({ text })),
    "GET /channels": ok(objectOf({ channels: listOf(ChannelStatus) })),
    "POST /channels/:name/test": ok(objectOf({ ok: yes, detail: text })),
    "GET /events": [stream],
    "GET /events/recent": ok(objectOf({ events: listOf(Envelope) }, { gap: yes, more: flag })),
    "GET /traces": ok(objectOf({ traces: listOf(Trace) })),
    "GET /traces/:id": ok(Trace),
  },
};

export default answers;
