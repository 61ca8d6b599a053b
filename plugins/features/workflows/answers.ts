import { type Answers, listOf, objectOf, type RouteAnswer, recordOf, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "string", format: "date-time" };
const any = (description: string): Schema => ({ description });
const open = (description: string): Schema => ({ type: "object", additionalProperties: true, description });

const definition = open("As workflow-definition.schema.json of this package describes it");
const layout: Schema = { anyOf: [open("Where its nodes stand on a page"), { type: "null" }] };
const format: Schema = { type: "string", enum: ["yaml", "json"] };
const hash: Schema = { type: "string", description: "Of what is run; empty where it cannot be" };
const etag: Schema = { type: "string", description: "For the If-Match of a change" };
const file: Schema = { type: "string", description: "As people name it" };
const status: Schema = { type: "string", enum: ["running", "paused", "completed", "failed", "canceled"] };

const WorkflowProblem = objectOf({
  message: text,
  pointer: { type: "string", description: "JSON pointer into the definition" },
  line: count,
  column: count,
  severity: { type: "string", enum: ["error", "warning"] },
  code: { type: "string", description: "Such as SCHEMA or UNREACHABLE" },
});
const problems = listOf(WorkflowProblem);

const WorkflowField = objectOf(
  { type: { type: "string", enum: ["string", "number", "integer", "boolean", "object", "array"] } },
  { enum: listOf({}), default: {}, example: {}, required: flag, description: text },
);

const WorkflowLastRun = objectOf({ id: text, status, createdAt: time }, { waitsForPerson: { const: true }, endedAt: time });

const Workflow = objectOf(
  { definition: open("Its head: without nodes and edges"), hash, format, file, inputSchema: recordOf(WorkflowField), problems, broken: flag },
  {
    lastRuns: listOf(WorkflowLastRun),
    starters: listOf(objectOf({ kind: { type: "string", enum: ["schedule", "webhook", "messages"] }, id: text }, { detail: text })),
    nextStart: time,
  },
);

const WorkflowEntry = objectOf(
  { kind: { type: "string", enum: ["api", "cli", "webhook", "cron", "match", "action", "agent", "a2a", "sub", "replay"] } },
  { ref: text },
);

const WorkflowError = objectOf({ code: text, message: text }, { node: text, iteration: text, attempt: count, details: {} });

const WorkflowWait = objectOf(
  { node: text, iteration: text, kind: { type: "string", enum: ["timer", "task", "signal", "child", "items", "retry", "effect", "incident"] }, since: time },
  { until: time, for: { type: "string", description: "The id of the task or run, the name of the signal, or the step" } },
);

const runRequired = {
  id: text,
  workflowId: text,
  hash,
  status,
  entry: WorkflowEntry,
  rootId: text,
  createdAt: time,
  updatedAt: time,
  waits: listOf(WorkflowWait),
} satisfies Record<string, Schema>;
const runOptional = {
  name: text,
  parentRunId: text,
  parentStep: text,
  restartOf: text,
  input: any("What it was started with"),
  output: {},
  error: WorkflowError,
  endedAt: time,
  context: open("The latest output of each node"),
} satisfies Record<string, Schema>;
const WorkflowRun = objectOf(runRequired, runOptional);

const WorkflowStep = objectOf(
  {
    id: text,
    node: text,
    iteration: text,
    status: { type: "string", enum: ["ready", "running", "waiting", "ok", "failed", "timeout", "canceled"] },
    attempt: count,
    readyAt: time,
  },
  {
    seq: count,
    claimedAt: time,
    endedAt: time,
    input: any("What an effect was given"),
    output: {},
    error: WorkflowError,
    ports: listOf(text),
    childRunId: text,
    taskId: text,
  },
);

const WorkflowJournalEntry: Schema = {
  type: "object",
  required: ["seq", "kind", "at"],
  properties: { seq: count, kind: { type: "string", description: "Such as step.ended" }, at: time },
  additionalProperties: true,
  description: "What else it has depends on its kind",
};

const WorkflowRunDetail = objectOf(
  {
    ...runRequired,
    timeline: listOf(WorkflowJournalEntry),
    steps: listOf(WorkflowStep),
    children: listOf(objectOf({ id: text, workflowId: text, status }, { parentStep: text })),
  },
  { ...runOptional, nextEntry: { ...count, description: "The `after` of the next entries" } },
);

const started: Schema = objectOf({ runId: text, workflowId: text, status, hash }, { duplicate: { const: true } });

const FormField = objectOf(
  { name: text, kind: { type: "string", enum: ["text", "long-text", "number", "boolean", "select", "multi-select", "date"] } },
  {
    label: text,
    required: flag,
    default: {},
    help: text,
    minLength: count,
    maxLength: count,
    pattern: text,
    min: { type: ["number", "string"] },
    max: { type: ["number", "string"] },
    integer: flag,
    options: listOf({ anyOf: [text, objectOf({ value: text }, { label: text })] }),
  },
);

const WorkflowTask = objectOf(
  {
    id: text,
    kind: { type: "string", enum: ["userTask", "approval", "incident"] },
    runId: text,
    workflowId: text,
    step: text,
    title: text,
    assignee: { type: "string", description: "`actor:<id>` or `role:<name>`" },
    form: objectOf({ fields: listOf(FormField) }),
    submitTransition: { type: "string", description: "The port that the run takes, or a template over `values` that gives it" },
    state: { type: "string", enum: ["open", "completed", "canceled"] },
    assignedAt: time,
    overdue: flag,
    history: listOf(objectOf({ at: time, type: { type: "string", enum: ["created", "commented", "overdue", "submitted", "canceled"] } }, { by: text, text })),
  },
  { detail: text, dueAt: time, expiresAt: time, completedAt: time, completedBy: text, values: open("What was answered") },
);

const WorkflowText = objectOf(
  { format, text, definition: { anyOf: [definition, { type: "null" }] }, hash, problems },
  { locked: objectOf({ line: count, column: count, reason: text }), etag, layout, file },
);

const happening = objectOf({ kind: text }, { step: text, ports: listOf(text), name: text });
const WorkflowFold = objectOf({ runId: text, same: flag }, { firstDifference: objectOf({ seq: count }, { was: happening, now: happening }) });

const page = (name: string, items: Schema): RouteAnswer => ({ json: objectOf({ [name]: listOf(items) }, { next: text }) });
const saved = (code: number): RouteAnswer => ({ status: code, json: objectOf({ id: text, hash, etag, warnings: problems }) });
const draft: Schema = objectOf({ id: text, file, problems });
const ok = { const: true };

/** Additional fields of an error beside its message. */
const failed = (more: Readonly<Record<string, Schema>>): Schema => objectOf({ error: text, code: text }, { path: text, field: text, hint: text, ...more });
const Refused = failed({ problems, file, reason: text });
const refused: readonly RouteAnswer[] = [400, 409, 422].map((code) => ({ status: code, json: Refused }));
const closed: RouteAnswer = { status: 409, json: failed({ state: text, completedBy: text, completedAt: time }) };
const conflict: RouteAnswer = { status: 409, json: failed({ status, runId: { type: "string", description: "Of the run that is under way" } }) };
const notRestarted: RouteAnswer = {
  status: 409,
  json: failed({ status: { ...status, description: "Of the run: it is live, or it is completed and no step was named" } }),
};

export default {
  schemas: {
    Workflow,
    WorkflowProblem,
    WorkflowField,
    WorkflowLastRun,
    WorkflowEntry,
    WorkflowError,
    WorkflowWait,
    WorkflowRun,
    WorkflowStep,
    WorkflowJournalEntry,
    WorkflowRunDetail,
    WorkflowFormField: FormField,
    WorkflowTask,
    WorkflowText,
    WorkflowFold,
    WorkflowRefused: Refused,
  },
  routes: {
    "POST /workflows/:id/run": [{ json: started }, { status: 202, json: started }, conflict],
    "GET /api/workflows/runs": [page("runs", WorkflowRun)],
    "GET /api/workflows/runs/:id": [{ json: WorkflowRunDetail }],
    "GET /api/workflows/runs/:id/step": [{ json: objectOf({ step: WorkflowStep, entries: listOf(WorkflowJournalEntry) }) }],
    "GET /api/workflows/runs/:id/definition": [
      { json: objectOf({ definition, hash }, { current: { type: "string", description: "The hash of its workflow at the moment" }, layout }) },
    ],
    "POST /api/workflows/runs/:id/status": [{ json: WorkflowRun }, conflict],
    "POST /api/workflows/runs/:id/signal": [{ status: 202, json: objectOf({ delivered: flag, stored: flag, duplicate: flag }) }, conflict],
    "POST /api/workflows/runs/:id/restart": [{ status: 202, json: started }, notRestarted],
    "GET /api/workflows/tasks": [page("tasks", WorkflowTask)],
    "GET /api/workflows/tasks/:id": [{ json: WorkflowTask }],
    "POST /api/workflows/tasks/:id/submit": [{ json: objectOf({ ok, taskId: text, port: text, runId: text }) }, closed],
    "POST /api/workflows/tasks/:id/comment": [{ json: WorkflowTask }, closed],
    "GET /api/workflows": [page("workflows", Workflow)],
    "GET /api/workflows/:id": [{ json: objectOf({ definition: { anyOf: [definition, { type: "null" }] }, layout, hash, format, file, problems }) }],
    "PUT /api/workflows/:id": [saved(200), saved(201), ...refused],
    "PUT /api/workflows/:id/layout": [{ json: objectOf({ ok }) }],
    "GET /api/workflow-editor": [
      {
        json: objectOf({
          mode: { type: "string", enum: ["disabled", "readonly", "edit"] },
          schema: open("The JSON schema of definitions"),
          agents: listOf(objectOf({ id: text, name: text })),
          actions: listOf(objectOf({ name: text, description: text, input: open("A JSON schema") })),
          examples: listOf(objectOf({ id: text, name: text, description: text, text })),
        }),
      },
    ],
    "POST /api/workflows/check": [{ json: WorkflowText }],
    "GET /api/workflows/:id/text": [{ json: WorkflowText }],
    "PUT /api/workflows/:id/text": [saved(200), saved(201), ...refused],
    "GET /api/workflows/drafts/:id/text": [{ json: WorkflowText }],
    "PUT /api/workflows/drafts/:id/text": [{ json: draft }, ...refused],
    "GET /api/workflows/drafts": [page("drafts", objectOf({ definition: open("Its head: without nodes and edges"), file, problems, updatedAt: time }))],
    "POST /api/workflows/drafts": [
      { status: 201, json: objectOf({ id: text, file, problems, url: { type: "string", description: "Of the page that edits it" } }) },
      ...refused,
    ],
    "GET /api/workflows/drafts/:id": [
      { json: objectOf({ id: text, definition: { anyOf: [definition, { type: "null" }] }, text, file, problems, updatedAt: time, hash }) },
    ],
    "PUT /api/workflows/drafts/:id": [{ json: draft }, ...refused],
    "POST /api/workflows/drafts/:id/validate": [{ json: objectOf({ ok: flag, problems }) }],
    "POST /api/workflows/drafts/:id/promote": [
      { json: objectOf({ id: text, url: text, folds: { ...listOf(WorkflowFold), description: "Its newest runs, as they would have gone by it" } }) },
      ...refused,
    ],
    "POST /api/workflows/drafts/:id/reject": [{ json: objectOf({ ok, file: { type: "string", description: "Where it is kept now" } }) }],
    "POST /api/workflows/drafts/:id/replay": [{ status: 202, json: objectOf({ runId: text, name: text }) }, ...refused],
  },
} satisfies Answers;
