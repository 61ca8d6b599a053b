import { createHash } from "node:crypto";
import { codeOf, type HttpReply, type HttpRequest, type HttpRoute, svcError, type WorkflowRun, type WorkflowStart } from "@svc/sdk";
import type { RestartQuery } from "./restarts.ts";
import type { Runs } from "./runs.ts";

/** The server that routes are for, and who may read and write there (AUTH-11, AUTH-14). */
export interface Place {
  /** Unset: the daemon's own, for this machine. */
  readonly server?: string;
  readonly read: HttpRoute["guard"];
  readonly write: HttpRoute["guard"];
}

/** On the daemon for this machine's programs, on the dashboard's server for people. */
export const PLACES: readonly Place[] = [
  { read: "loopback", write: "loopback" },
  { server: "dashboard", read: "scope:dashboard:read", write: "scope:dashboard:write" },
];

type Open = () => Promise<{ readonly runs: Runs }>;

const TEXT = { type: "string", minLength: 1, maxLength: 512 } as const;
/** Of a restart. */
const STEP = { ...TEXT, description: "Such as fetch/1; default: the step that failed the run. A completed run needs one" } as const;
const ENTRIES_LIMIT = 1_000;
const LISTED = 50;
const LISTED_MOST = 200;

const STATUS_BODY = {
  type: "object",
  additionalProperties: false,
  properties: {
    action: { enum: ["pause", "resume", "cancel"] },
    status: { enum: ["paused", "running", "canceled"] },
    reason: { type: "string", maxLength: 1_000 },
    by: { type: "string", minLength: 1, maxLength: 100 },
  },
} as const;
const ACTION_OF = { paused: "pause", running: "resume", canceled: "cancel" } as const;

/** Fields beside a payload. */
const BESIDE = [
  ["force", "boolean"],
  ["startKey", "string"],
  ["entryRef", "string"],
  ["timeoutMinutes", "number"],
] as const;

/** Names the caller for the journal: a page by its token, a program of this machine by the name it sends. */
export function whoIs({ caller: { token }, body }: HttpRequest): string {
  const { by } = (body ?? {}) as { readonly by?: unknown };
  if (token !== undefined) return `token:${token.name}`;
  return typeof by === "string" && by !== "" ? by : "this machine";
}

function timeOf(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw svcError("SVC_WORKFLOW_SINCE", `${field} must be a time such as 2026-05-01T10:00:00Z.`, { status: 400, field });
  return at;
}

/** The payload, and how the run is to be started: the body is the payload unless it has a key `payload`. */
function startOf({ body, query, headers }: HttpRequest, kind: "api" | "cli"): WorkflowStart {
  const given = (body ?? {}) as Record<string, unknown>;
  const around = isPayload(given) ? given : undefined;
  for (const [field, type] of BESIDE)
    if (around?.[field] !== undefined && typeof around[field] !== type)
      throw svcError("SVC_WORKFLOW_START", `${field} beside a payload must be a ${type}.`, { status: 400, field });
  const header = headers["idempotency-key"];
  const startKey = (around?.startKey as string | undefined) ?? (typeof header === "string" ? header : undefined);
  const ref = around?.entryRef as string | undefined;
  const force = query.force === "1" || query.force === "true" || around?.force === true;
  return {
    input: (around === undefined ? given : (around.payload ?? {})) as Record<string, unknown>,
    entry: { kind, ...(ref === undefined ? {} : { ref: String(ref) }) },
    ...(startKey === undefined ? {} : { startKey: String(startKey) }),
    ...(force ? { force } : {}),
    ...(typeof around?.timeoutMinutes === "number" ? { timeoutMinutes: around.timeoutMinutes } : {}),
  };
}

/** Whether the key is the header's alone. A `startKey` counts whatever the input is: a step that is tried again evaluates its input anew. */
const hasKeyOfHeader = ({ headers, body }: HttpRequest): boolean =>
  typeof headers["idempotency-key"] === "string" && !(isPayload(body) && (body as { readonly startKey?: unknown }).startKey !== undefined);

/** Whether a body has its payload beside other fields. */
const isPayload = (body: unknown): boolean => Object.hasOwn((body ?? {}) as object, "payload");

const digestOf = ({ input, entry, timeoutMinutes }: WorkflowStart): string =>
  createHash("sha256")
    .update(JSON.stringify([input, entry.ref, timeoutMinutes]))
    .digest("base64url");

/** The routes of runs (WORKFLOWS 8), for one server. */
export function runRoutes({ server, read, write }: Place, open: Open): readonly HttpRoute[] {
  const place = server === undefined ? {} : { server };
  const runs = async () => (await open()).runs;
  const reading = (path: string, handle: HttpRoute["handle"], query?: HttpRoute["query"]): HttpRoute => ({
    ...place,
    method: "GET",
    path,
    guard: read,
    ...(query === undefined ? {} : { query }),
    handle,
  });
  const writing = (path: string, handle: HttpRoute["handle"], more: Pick<HttpRoute, "body" | "query"> = {}): HttpRoute => ({
    ...place,
    method: "POST",
    path,
    guard: write,
    ...more,
    handle,
  });
  /** A conflict tells what there is beside its words (WORKFLOWS 8). */
  const orConflict = async (reply: HttpReply, work: () => Promise<unknown>) => {
    try {
      return await work();
    } catch (error) {
      const { message, runStatus, runId } = error as { message?: string; runStatus?: string; runId?: string };
      const code = codeOf(error);
      if (code === "SVC_WORKFLOW_RUN_STATE") return answer(reply, 409, { error: message, code, status: runStatus });
      if (code === "SVC_WORKFLOW_IN_FLIGHT") return answer(reply, 409, { error: message, code: "in-flight", runId });
      throw error;
    }
  };
  const answer = (reply: HttpReply, code: number, body: unknown) => {
    reply.status(code);
    return body;
  };
  return [
    writing(
      "/workflows/:id/run",
      async (request, reply) =>
        orConflict(reply, async () => {
          const kind = server === undefined && request.query.entry === "cli" ? "cli" : "api";
          const start = startOf(request, kind);
          const started = await (await runs()).start(request.params.id ?? "", start, {
            root: true,
            ...(hasKeyOfHeader(request) ? { digest: digestOf(start) } : {}),
          });
          return answer(reply, started.duplicate ? 200 : 202, started);
        }),
      { query: { type: "object", properties: { force: { enum: ["0", "1", "true", "false"] }, entry: { enum: ["api", "cli"] } } } },
    ),
    reading(
      "/api/workflows/runs",
      async ({ query }) => {
        const { summary, status, workflow, parent, root, text, limit, cursor } = query;
        const [since, ended] = [timeOf("since", query.since), timeOf("ended", query.ended)];
        return (await runs()).list({
          summary: summary === "1",
          limit: Math.min(Number(limit ?? LISTED), LISTED_MOST),
          ...(status === undefined ? {} : { status: status as WorkflowRun["status"] | "open" }),
          ...(workflow === undefined ? {} : { workflow }),
          ...(parent === undefined ? {} : { parent }),
          ...(root === undefined ? {} : { root }),
          ...(since === undefined ? {} : { since }),
          ...(ended === undefined ? {} : { ended }),
          ...(text === undefined ? {} : { text }),
          ...(cursor === undefined ? {} : { cursor }),
        });
      },
      {
        type: "object",
        properties: {
          summary: { enum: ["0", "1"] },
          status: { enum: ["open", "running", "paused", "completed", "failed", "canceled"] },
          workflow: TEXT,
          parent: TEXT,
          root: TEXT,
          since: { type: "string", format: "date-time" },
          ended: { type: "string", format: "date-time" },
          text: { ...TEXT, maxLength: 200 },
          limit: { type: "integer", minimum: 1, maximum: LISTED_MOST },
          cursor: TEXT,
        },
      },
    ),
    reading(
      "/api/workflows/runs/:id",
      async ({ params, query: { after = "0", limit = ENTRIES_LIMIT, brief } }) =>
        (await runs()).detail(params.id ?? "", { after: Number(after), limit: Number(limit), brief: brief === "1" }),
      {
        type: "object",
        properties: {
          after: { type: "integer", minimum: 0 },
          limit: { type: "integer", minimum: 1, maximum: ENTRIES_LIMIT },
          brief: { enum: ["0", "1"] },
        },
      },
    ),
    reading("/api/workflows/runs/:id/step", async ({ params, query }) => (await runs()).step(params.id ?? "", query.id ?? ""), {
      type: "object",
      required: ["id"],
      properties: { id: TEXT },
    }),
    reading("/api/workflows/runs/:id/definition", async ({ params }) => (await runs()).executed(params.id ?? "")),
    writing(
      "/api/workflows/runs/:id/status",
      async (request, reply) => {
        const { action, status, reason } = request.body as { action?: "pause" | "resume" | "cancel"; status?: keyof typeof ACTION_OF; reason?: string };
        const asked = action ?? (status === undefined ? undefined : ACTION_OF[status]);
        if (asked === undefined) return answer(reply, 400, { error: "Say what to do: action pause, resume or cancel.", field: "action" });
        return orConflict(reply, async () =>
          (await runs()).change(request.params.id ?? "", asked, { by: whoIs(request), ...(reason === undefined ? {} : { reason }) }),
        );
      },
      { body: STATUS_BODY },
    ),
    writing(
      "/api/workflows/runs/:id/signal",
      async (request, reply) => {
        const { name, payload, key, stored } = request.body as { name: string; payload?: unknown; key?: string; stored?: boolean };
        const more = { ...(key === undefined ? {} : { key }), ...(stored === undefined ? {} : { stored }) };
        return orConflict(reply, async () => answer(reply, 202, await (await runs()).signal(request.params.id ?? "", { name, payload, ...more })));
      },
      {
        body: {
          type: "object",
          additionalProperties: false,
          required: ["name"],
          properties: { name: TEXT, payload: {}, key: TEXT, stored: { type: "boolean" } },
        },
      },
    ),
    writing(
      "/api/workflows/runs/:id/restart",
      ({ params, body }, reply) =>
        orConflict(reply, async () => answer(reply, 202, await (await runs()).restart(params.id ?? "", (body ?? {}) as RestartQuery))),
      {
        body: { type: "object", additionalProperties: false, properties: { step: STEP, definition: { enum: ["pinned", "current"] } } },
      },
    ),
  ];
}
