import type { HttpRoute } from "@svc/sdk";
import { viewOf } from "./call-row.ts";
import { fail } from "./errors.ts";
import type { Opened } from "./opened.ts";
import type { Wanted } from "./placing.ts";
import { placerOf } from "./who-may.ts";

const text = (maxLength: number) => ({ type: "string", minLength: 1, maxLength }) as const;
const PLACE = {
  type: "object",
  additionalProperties: false,
  properties: { kind: { enum: ["call", "camera"] }, to: text(200), agent: text(100), why: text(500), by: text(100) },
} as const;
const SMALL_BYTES = 4_096;

/** Calls are placed by this machine and by peers, and looked at here. */
export function placingRoutes(open: () => Promise<Opened>): readonly HttpRoute[] {
  return [
    {
      method: "POST",
      path: "/calls",
      guard: "peer",
      maxBytes: SMALL_BYTES,
      body: PLACE,
      async handle(request, reply) {
        const { kind = "call", ...wanted } = (request.body ?? {}) as Partial<Omit<Wanted, "host">>;
        const { host } = request.headers;
        const { call, url } = await (await open()).place({ kind, ...wanted, ...(typeof host === "string" ? { host } : {}) }, placerOf(request));
        reply.status(201);
        return { call: viewOf(call.row), ...(url === undefined ? {} : { url }) };
      },
    },
    {
      method: "GET",
      path: "/calls",
      guard: "loopback",
      query: { type: "object", additionalProperties: false, properties: { all: { enum: ["true", "false"] } } },
      handle: async ({ query: { all } }) => ({ calls: (await (await open()).list(all === "true")).map(viewOf) }),
    },
    {
      method: "GET",
      path: "/calls/:id",
      guard: "loopback",
      async handle(request) {
        const opened = await open();
        const row = await opened.row(request.params.id ?? "");
        if (row === undefined) throw fail("SVC_CALLS_UNKNOWN", { id: request.params.id });
        return { call: viewOf(row), lines: await opened.lines(row.id) };
      },
    },
  ];
}
