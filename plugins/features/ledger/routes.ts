import { type Agents, type HttpRoute, svcError } from "@svc/sdk";
import type { Entries } from "./entries.ts";
import type { Mode } from "./mode.ts";

const MATTER = {
  project: { type: "string", minLength: 1, maxLength: 1_000, description: "project" },
  subject: { type: "string", minLength: 1, maxLength: 1_000, description: "issue, chat or other thing in it" },
} as const;
const expect = { type: "integer", minimum: 0, description: "version that the entry must have; 0: none is there" } as const;

/** Dependencies of the routes. */
export interface RouteDeps {
  readonly mode: Mode;
  readonly agents: Pick<Agents, "get">;
  entries(): Promise<Entries>;
}

/** For programs of this machine: what the ledger has, and a person's word over it. */
export function routesOf({ mode, agents, entries }: RouteDeps): readonly HttpRoute[] {
  return [
    {
      method: "GET",
      path: "/ledger",
      guard: "loopback",
      query: {
        type: "object",
        properties: { ...MATTER, after: { type: "string", maxLength: 100 }, limit: { type: "integer", minimum: 1, maximum: 1_000 } },
      },
      async handle({ query: { project, subject, after, limit = "100" } }) {
        if (project !== undefined && subject !== undefined) {
          const entry = await (await entries()).get({ project, subject });
          if (entry === undefined) throw svcError("SVC_LEDGER_UNKNOWN", `The ledger has nothing about '${subject}' of '${project}'.`, { status: 404 });
          return { mode, entry };
        }
        const listed = await (await entries()).list({
          limit: Number(limit),
          ...(project === undefined ? {} : { project }),
          ...(after === undefined ? {} : { after }),
        });
        return { mode, entries: listed };
      },
    },
    {
      method: "POST",
      path: "/ledger/assign",
      guard: "loopback",
      forPeople: true,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["project", "subject", "agent"],
        properties: {
          ...MATTER,
          agent: { type: "string", minLength: 1, maxLength: 200, description: "who has it from now on" },
          by: { type: "string", minLength: 1, maxLength: 100, description: "who says so, on this machine" },
          expect,
        },
      },
      async handle({ body }) {
        const given = body as { readonly project: string; readonly subject: string; readonly agent: string; readonly by?: string; readonly expect?: number };
        if (agents.get(given.agent) === undefined)
          throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${given.agent}'; see svc agent list.`, { status: 404, agent: given.agent });
        const { project, subject, agent, by = "this machine" } = given;
        return { mode, entry: await (await entries()).assign({ project, subject }, agent, by, given.expect) };
      },
    },
    {
      method: "POST",
      path: "/ledger/release",
      guard: "loopback",
      forPeople: true,
      body: { type: "object", additionalProperties: false, required: ["project", "subject"], properties: { ...MATTER, expect } },
      async handle({ body }) {
        const { project, subject, expect: version } = body as { readonly project: string; readonly subject: string; readonly expect?: number };
        return { mode, released: await (await entries()).release({ project, subject }, version) };
      },
    },
  ];
}
