import type { HttpRoute } from "@svc/sdk";
import type { Client } from "../client.ts";
import type { Ingest } from "./ingest.ts";
import type { SweepRequest } from "./sweep.ts";

/** Routes for stored chats and contacts, without a request to the phone, and for a run of the ingest. */
export function ingestRoutes(client: () => Client, ingest: () => Promise<Ingest>): readonly HttpRoute[] {
  return [
    {
      method: "GET",
      path: "/phonemsg/chats",
      guard: "loopback",
      handle: async () => ({
        chats: (await client().directory.chats()).map(({ id, kind, name, lastAt }) => ({
          id,
          kind,
          ...(name === undefined ? {} : { name }),
          ...(lastAt === undefined ? {} : { lastAt: new Date(lastAt).toISOString() }),
        })),
      }),
    },
    {
      method: "GET",
      path: "/phonemsg/contacts",
      guard: "loopback",
      handle: async () => ({ contacts: await client().directory.contacts() }),
    },
    {
      method: "POST",
      path: "/phonemsg/ingest",
      guard: "loopback",
      body: {
        type: "object",
        additionalProperties: false,
        properties: {
          contact: { type: "string", minLength: 1, maxLength: 200, description: "only this person: a number or a saved name" },
          chat: { type: "string", minLength: 1, maxLength: 200, description: "only this chat: its id, a number or a group's name" },
          dryRun: { type: "boolean", default: false, description: "write nothing" },
          force: { type: "boolean", default: false, description: "write what has not changed, too" },
        },
      },
      handle: async ({ body }) => (await ingest()).run((body ?? {}) as SweepRequest),
    },
  ];
}
