import type { HttpReply, HttpRequest, HttpRoute } from "@svc/sdk";
import type { WorkflowStarts } from "../triggers/workflow-starts.ts";
import { definitionError } from "./definition-errors.ts";
import { headOf, inputSchemaOf } from "./definition-views.ts";
import type { Definitions, Loaded } from "./definitions.ts";

/** The server that routes are for, and who may read and write there. */
export interface DefinitionPlace {
  readonly server?: string;
  readonly read: HttpRoute["guard"];
  readonly write: HttpRoute["guard"];
}

/** `workflows.editor`. */
export type Editor = "disabled" | "readonly" | "edit";

/** Dependencies of the routes of definitions. */
export interface DefinitionDoors {
  readonly definitions: Definitions;
  /** For a list with `runs`: the newest runs of each workflow, and what starts it. */
  starts(workflows: readonly Loaded[], runs: number): Promise<ReadonlyMap<string, WorkflowStarts>>;
}

const LISTED = 50;
const LISTED_MOST = 200;
/** Of a list: how many, and where to go on. */
export const PAGE_QUERY = {
  type: "object",
  properties: { limit: { type: "integer", minimum: 1, maximum: LISTED_MOST }, cursor: { type: "string", minLength: 1, maxLength: 200 } },
} as const;
/** Any object of JSON. */
export const OBJECT_BODY = { type: "object", additionalProperties: true } as const;

/** A part of a list in the order of its ids, and the cursor of the next one. */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  { limit, cursor }: HttpRequest["query"],
): { readonly page: readonly T[]; readonly next?: string } {
  const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id > cursor);
  const page = from < 0 ? [] : all.slice(from, from + Math.min(Number(limit ?? LISTED), LISTED_MOST));
  const last = page.at(-1);
  return { page, ...(last === undefined || all.at(-1) === last ? {} : { next: last.id }) };
}

/** Answers a refused definition including its problems, which an error alone does not carry. */
export async function withProblems(reply: HttpReply, work: () => Promise<unknown>): Promise<unknown> {
  try {
    return await work();
  } catch (error) {
    const { status, code, message, problems, file, reason } = error as Error & {
      status?: number;
      code?: string;
      problems?: unknown;
      file?: unknown;
      reason?: unknown;
    };
    if (status === undefined || (problems === undefined && file === undefined)) throw error;
    reply.status(status);
    return { error: message, code, ...(problems === undefined ? {} : { problems }), ...(file === undefined ? {} : { file, reason }) };
  }
}

/** Returns the condition of a change: the `If-Match` of the request, or that the definition is new (`If-None-Match: *`). */
export function conditionOf({ "if-match": match, "if-none-match": none }: HttpRequest["headers"]): string | undefined {
  if (typeof none === "string" && none.trim() === "*") return "new";
  return typeof match === "string" ? match.trim() : undefined;
}

/** Throws 403 unless definitions may be changed here (WF-13). */
export function requireEditor(editor: Editor): void {
  if (editor !== "edit") throw definitionError("SVC_WORKFLOW_READONLY", { editor });
}

/** The routes of definitions and layouts (WORKFLOWS 8), for one server. */
export function definitionRoutes({ server, read, write }: DefinitionPlace, open: () => Promise<DefinitionDoors>, editor: () => Editor): readonly HttpRoute[] {
  const place = server === undefined ? {} : { server };
  const before = () => requireEditor(editor());
  return [
    {
      ...place,
      method: "GET",
      path: "/api/workflows",
      guard: read,
      query: { ...PAGE_QUERY, properties: { ...PAGE_QUERY.properties, runs: { type: "integer", minimum: 1, maximum: 20 } } },
      async handle({ query }) {
        const { definitions, starts } = await open();
        const { page, next } = pageOf(await definitions.list(), query);
        const more = query.runs === undefined ? undefined : await starts(page, Number(query.runs));
        const workflows = page.map((loaded) => {
          const { id, definition, hash, format, file, problems, broken } = loaded;
          return {
            definition: headOf(loaded),
            hash,
            format,
            file: definitions.folder.shown(file),
            inputSchema: inputSchemaOf(definition),
            problems,
            broken: broken !== undefined,
            ...more?.get(id),
          };
        });
        return { workflows, ...(next === undefined ? {} : { next }) };
      },
    },
    {
      ...place,
      method: "GET",
      path: "/api/workflows/:id",
      guard: read,
      async handle({ params: { id = "" } }, reply) {
        const { definitions } = await open();
        const loaded = await definitions.get(id);
        if (loaded === undefined) throw definitionError("SVC_WORKFLOW_UNKNOWN", { id });
        const { value = null, hash, format, file, problems, etag } = loaded;
        reply.header("etag", etag);
        return { definition: value, layout: await definitions.layout(id), hash, format, file: definitions.folder.shown(file), problems };
      },
    },
    {
      ...place,
      method: "PUT",
      path: "/api/workflows/:id",
      guard: write,
      body: OBJECT_BODY,
      maxBytes: 2_097_152,
      before,
      handle: ({ params: { id = "" }, body, headers }, reply) =>
        withProblems(reply, async () => {
          const { definitions } = await open();
          const { loaded, created } = await definitions.save(id, body as object, conditionOf(headers));
          reply.status(created ? 201 : 200).header("etag", loaded.etag);
          return { id, hash: loaded.hash, etag: loaded.etag, warnings: loaded.problems };
        }),
    },
    {
      ...place,
      method: "PUT",
      path: "/api/workflows/:id/layout",
      guard: write,
      body: OBJECT_BODY,
      before,
      async handle({ params: { id = "" }, body }) {
        await (await open()).definitions.saveLayout(id, body as object);
        return { ok: true };
      },
    },
  ];
}
