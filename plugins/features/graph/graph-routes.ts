import type { HttpRequest, HttpRoute } from "@svc/sdk";
import type { Opened } from "./opened.ts";

const idOf = ({ params }: HttpRequest): string => params["id"] ?? "";

/** The routes of the daemon, for this machine. What a person decides asks for one. */
export function graphRoutes(open: () => Promise<Opened>): readonly HttpRoute[] {
  return [
    {
      method: "GET",
      path: "/graph",
      guard: "loopback",
      query: { type: "object", additionalProperties: false, properties: { match: { type: "string", maxLength: 2_000 } } },
      async handle({ query: { match } }) {
        const graph = await open();
        return { ...(await graph.list()), ...(match === undefined ? {} : { hits: await graph.find(match) }) };
      },
    },
    { method: "GET", path: "/graph/nodes/:id", guard: "loopback", handle: async (request) => ({ node: await (await open()).show(idOf(request)) }) },
    { method: "GET", path: "/graph/drafts", guard: "loopback", handle: async () => ({ drafts: await (await open()).folder.drafts() }) },
    {
      method: "POST",
      path: "/graph/draft",
      guard: "loopback",
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        properties: { text: { type: "string", minLength: 1, maxLength: 20_000 }, task: { type: "string", minLength: 1, maxLength: 512 } },
      },
      handle: async ({ body }) => ({ drafted: await (await open()).draftFrom((body ?? {}) as { text?: string; task?: string }) }),
    },
    {
      method: "POST",
      path: "/graph/drafts/:id/promote",
      guard: "loopback",
      forPeople: true,
      handle: async (request) => ({ change: await (await open()).promote(idOf(request)) }),
    },
    {
      method: "POST",
      path: "/graph/drafts/:id/reject",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, properties: { reason: { type: "string", maxLength: 1_000 } } },
      handle: async (request) => ({
        id: idOf(request),
        file: await (await open()).reject(idOf(request), (request.body as { reason?: string } | undefined)?.reason),
      }),
    },
  ];
}
