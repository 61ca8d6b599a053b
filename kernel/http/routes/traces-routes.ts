import type { HttpRoute } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";

/** `GET /traces` (000:L192): newest first, `before` and `since` in Unix milliseconds, `below` an id, `limit` 1 to 1000. */
export function tracesRoute(kernel: Pick<Kernel, "traces">): HttpRoute {
  return {
    method: "GET",
    path: "/traces",
    summary: "What tasks did, the newest first",
    guard: "peer",
    query: {
      type: "object",
      properties: {
        agent: { type: "string" },
        channel: { type: "string" },
        status: { enum: ["in-flight", "ok", "error", "timeout"] },
        runId: { type: "string" },
        before: { type: "integer", minimum: 0 },
        since: { type: "integer", minimum: 0 },
        below: { type: "string" },
        limit: { type: "integer", minimum: 1, maximum: 1000 },
      },
    },
    async handle({ query: { agent, channel, status, runId, below, before, since, limit } }) {
      const asked = {
        agent,
        channel,
        status,
        runId,
        below,
        before: before === undefined ? undefined : Number(before),
        since: since === undefined ? undefined : Number(since),
        limit: limit === undefined ? undefined : Number(limit),
      };
      return { traces: await kernel.traces.list(given(asked)) };
    },
  };
}

/** `GET /traces/:id` (000:L192): one task with its whole prompt and answer. */
export function traceRoute(kernel: Pick<Kernel, "traces">): HttpRoute {
  return {
    method: "GET",
    path: "/traces/:id",
    summary: "What one task did, step by step",
    guard: "peer",
    async handle({ params }) {
      const trace = await kernel.traces.get(params.id as string);
      if (trace === undefined) throw fail("SVC_TRACE_UNKNOWN", { trace: params.id });
      return trace;
    },
  };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
const given = <T extends object>(facts: T): Given<T> => Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as Given<T>;
