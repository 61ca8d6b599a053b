import { type Answers, listOf, objectOf, type RouteAnswer, type Schema } from "@svc/sdk";

const text: Schema = { type: "string" };
const flag: Schema = { type: "boolean" };
const count: Schema = { type: "integer", minimum: 0 };
const time: Schema = { type: "integer", description: "Unix time in milliseconds" };
const date: Schema = { type: "string", format: "date-time" };
const onError: Schema = { type: "string", enum: ["log", "notify", "disable"] };
const running: Schema = { const: "running" };

const CronRun = objectOf(
  {
    id: text,
    job: text,
    at: time,
    by: { type: "string", enum: ["schedule", "fire", "manual"] },
    kind: { type: "string", enum: ["agent", "command", "workflow"] },
    agent: text,
    status: { type: "string", enum: ["running", "ok", "failed", "interrupted"] },
  },
  { minute: date, endedAt: time, taskId: text, error: text, errorKind: text, exitCode: { type: "integer" }, output: text, refused: count },
);

const CronJob = objectOf(
  {
    id: text,
    enabled: flag,
    schedule: text,
    timezone: text,
    agent: text,
    prompt: text,
    timeout: { type: "number", description: "Seconds" },
    onError: { anyOf: [onError, listOf(onError)] },
    fire: { type: "boolean", description: "It can be started with a token" },
    next: listOf(date),
    failures: { ...count, description: "Failures in a row" },
    missed: listOf(
      objectOf(
        { first: date, last: date, count, at: time },
        { more: flag, unsure: { ...flag, description: "The daemon ended as it began: whether it ran is not known" } },
      ),
    ),
  },
  {
    command: text,
    workflow: text,
    model: text,
    maxOutputTokens: { type: "number" },
    autonomy: { type: "string", enum: ["report", "propose", "act"] },
    notify: objectOf({ channel: text, chatId: text }, { accountId: text }),
    sendAnswer: flag,
    createdBy: text,
    approval: objectOf({ action: { type: "string", enum: ["create", "delete"] }, requestedBy: text, requestedAt: date }),
    running: objectOf({ run: text }, { since: time, taskId: text }),
    last: CronRun,
    turnedOff: time,
  },
);

const started: readonly RouteAnswer[] = [
  { status: 202, json: objectOf({ started: { const: true }, run: text }) },
  { status: 409, json: objectOf({ started: { const: false }, reason: running, run: text, error: text, code: text }) },
];

const CronDecision = objectOf(
  { id: text, approved: flag, revision: text },
  {
    reloaded: listOf(text),
    restartRequired: listOf(text),
    reloadSkipped: text,
    failed: listOf(objectOf({ plugin: text, reason: text })),
    backup: text,
  },
);

const answers: Answers = {
  schemas: { CronDecision, CronJob, CronRun },
  routes: {
    "GET /crons": [{ json: objectOf({ crons: listOf(CronJob) }) }],
    "GET /crons/:id/runs": [{ json: objectOf({ job: text, runs: listOf(CronRun) }) }],
    "POST /crons/:id/run": started,
    "POST /crons/:id/fire": [{ status: 202, json: objectOf({ job: text, started: flag }, { reason: running }) }],
    "GET /api/admin/schedules": [{ json: objectOf({ schedules: listOf(CronJob) }) }],
    "POST /api/admin/schedules/:id/run": started,
    "POST /api/admin/schedules/:id/decide": [{ json: CronDecision }],
  },
};

export default answers;
