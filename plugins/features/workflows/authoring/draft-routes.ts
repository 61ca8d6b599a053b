import type { HttpRequest, HttpRoute } from "@svc/sdk";
import { etagOf } from "../definition/definition-folder.ts";
import {
  conditionOf,
  type DefinitionPlace,
  type Editor,
  OBJECT_BODY,
  PAGE_QUERY,
  pageOf,
  requireEditor,
  withProblems,
} from "../definition/definition-routes.ts";
import { draftView, requireRunnable } from "../definition/definition-views.ts";
import type { Definition } from "../engine/types.ts";
import type { Draft, Drafts } from "./draft-files.ts";
import type { TaskDraftQuery } from "./draft-from-task.ts";
import type { Fold } from "./fold.ts";
import type { ReplayQuery } from "./replay-start.ts";

/** Dependencies of the routes of drafts. */
export interface DraftDoors {
  readonly drafts: Drafts;
  /** Makes a draft of what a task has done. */
  fromTask(query: TaskDraftQuery): Promise<Draft>;
  /** Starts a run of a draft that is answered from what was recorded. */
  replay(draft: { readonly definition: Definition; readonly hash: string }, query: ReplayQuery): Promise<{ readonly runId: string; readonly name: string }>;
  /** Holds the newest completed runs against a definition. */
  folds(definition: Definition, draft?: string): Promise<readonly Fold[]>;
}

const ID = { type: "string", minLength: 1, maxLength: 64 } as const;
const TASK = { type: "string", minLength: 1, maxLength: 512 } as const;
const TEXT = { type: "string", maxLength: 1_000 } as const;

/** The routes of drafts (WORKFLOWS 8), for one server. */
export function draftRoutes({ server, read, write }: DefinitionPlace, open: () => Promise<DraftDoors>, editor: () => Editor): readonly HttpRoute[] {
  const place = server === undefined ? {} : { server };
  const before = () => requireEditor(editor());
  const idOf = ({ params }: HttpRequest) => params["id"] ?? "";
  return [
    {
      ...place,
      method: "GET",
      path: "/api/workflows/drafts",
      guard: read,
      query: PAGE_QUERY,
      async handle({ query }) {
        const { page, next } = pageOf(await (await open()).drafts.list(), query);
        return { drafts: page.map(draftView), ...(next === undefined ? {} : { next }) };
      },
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/drafts",
      guard: write,
      body: { type: "object", additionalProperties: false, required: ["taskId"], properties: { taskId: TASK, id: ID } },
      before,
      handle: ({ body }, reply) =>
        withProblems(reply, async () => {
          const { id, file, problems, text } = await (await open()).fromTask(body as TaskDraftQuery);
          reply.status(201).header("etag", etagOf(text));
          return { id, file, problems, url: `/workflows/editor?draft=${encodeURIComponent(id)}` };
        }),
    },
    {
      ...place,
      method: "GET",
      path: "/api/workflows/drafts/:id",
      guard: read,
      async handle(request, reply) {
        const { value = null, text, file, problems, updatedAt, hash } = await (await open()).drafts.get(idOf(request));
        reply.header("etag", etagOf(text));
        return { id: idOf(request), definition: value, text, file, problems, updatedAt, hash };
      },
    },
    {
      ...place,
      method: "PUT",
      path: "/api/workflows/drafts/:id",
      guard: write,
      body: OBJECT_BODY,
      maxBytes: 2_097_152,
      before,
      handle: (request, reply) =>
        withProblems(reply, async () => {
          const { drafts } = await open();
          const { id, file, problems, text } = await drafts.save(idOf(request), request.body as Record<string, unknown>, conditionOf(request.headers));
          reply.header("etag", etagOf(text));
          return { id, file, problems };
        }),
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/drafts/:id/validate",
      guard: write,
      async handle(request) {
        const { problems } = await (await open()).drafts.get(idOf(request));
        return { ok: problems.every(({ severity }) => severity !== "error"), problems };
      },
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/drafts/:id/promote",
      guard: write,
      body: { type: "object", additionalProperties: false, properties: { id: ID } },
      before,
      handle: (request, reply) =>
        withProblems(reply, async () => {
          const { drafts, folds } = await open();
          const { id, definition } = await drafts.promote(idOf(request), (request.body as { id?: string } | undefined)?.id);
          return { id, url: `/workflows/editor?id=${encodeURIComponent(id)}`, folds: await folds(definition, idOf(request)) };
        }),
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/drafts/:id/reject",
      guard: write,
      body: { type: "object", additionalProperties: false, properties: { reason: TEXT } },
      before,
      async handle(request) {
        const file = await (await open()).drafts.reject(idOf(request), (request.body as { reason?: string } | undefined)?.reason, new Date());
        return { ok: true, file };
      },
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/drafts/:id/replay",
      guard: write,
      body: { type: "object", additionalProperties: false, properties: { taskId: TASK, input: OBJECT_BODY } },
      handle: (request, reply) =>
        withProblems(reply, async () => {
          const { drafts, replay } = await open();
          const draft = await drafts.get(idOf(request));
          requireRunnable(draft.id, draft);
          const started = await replay({ definition: draft.definition as Definition, hash: draft.hash }, (request.body ?? {}) as ReplayQuery);
          reply.status(202);
          return started;
        }),
    },
  ];
}
