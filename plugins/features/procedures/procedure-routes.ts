import type { HttpRequest, HttpRoute } from "@svc/sdk";
import type { Opened } from "./opened.ts";

const ID = { type: "string", minLength: 1, maxLength: 200 } as const;
const bodyOf = <T>({ body }: HttpRequest): T => (body ?? {}) as T;

/** The routes of the daemon, for this machine. What a person decides asks for one. */
export function procedureRoutes(open: () => Promise<Opened>): readonly HttpRoute[] {
  return [
    {
      method: "GET",
      path: "/procedures",
      guard: "loopback",
      query: {
        type: "object",
        additionalProperties: false,
        properties: { agent: ID, drafts: { enum: ["true", "false"] }, match: { type: "string", maxLength: 2_000 } },
      },
      async handle({ query: { agent, drafts, match } }) {
        const query = { drafts: drafts === "true", ...(agent === undefined ? {} : { agent }), ...(match === undefined ? {} : { match }) };
        const opened = await open();
        const [procedures, unread] = await Promise.all([opened.list(query), opened.folder.unread()]);
        return { procedures, ...(unread === 0 ? {} : { unread }) };
      },
    },
    {
      method: "GET",
      path: "/procedures/one",
      guard: "loopback",
      query: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID } },
      handle: async ({ query: { id = "" } }) => ({ procedure: await (await open()).show(id) }),
    },
    {
      method: "POST",
      path: "/procedures/promote",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID, as: ID } },
      async handle(request) {
        const { id, as } = bodyOf<{ id: string; as?: string }>(request);
        const { body: _, ...procedure } = await (await open()).folder.promote(id, as);
        return { procedure };
      },
    },
    {
      method: "POST",
      path: "/procedures/reject",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, required: ["id"], properties: { id: ID, reason: { type: "string", maxLength: 1_000 } } },
      async handle(request) {
        const { id, reason } = bodyOf<{ id: string; reason?: string }>(request);
        return { id, file: await (await open()).folder.reject(id, reason, new Date()) };
      },
    },
    {
      method: "POST",
      path: "/procedures/extract",
      guard: "loopback",
      forPeople: true,
      handle: async () => ({ pass: (await (await open()).extract()) ?? null }),
    },
  ];
}
