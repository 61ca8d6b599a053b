import type { HttpRoute, PluginContext } from "@svc/sdk";
import { definitionError } from "../definition/definition-errors.ts";
import { etagOf } from "../definition/definition-folder.ts";
import { conditionOf, type DefinitionPlace, type Editor, OBJECT_BODY, requireEditor, withProblems } from "../definition/definition-routes.ts";
import type { Definitions } from "../definition/definitions.ts";
import type { Drafts } from "./draft-files.ts";

type Around = Pick<PluginContext, "agents" | "actions">;

const ID = { type: "string", minLength: 1, maxLength: 64 } as const;
const TEXT = { type: "string", maxLength: 1_100_000 } as const;
const MAX_BODY = 4_194_304;

/**
 * The routes of the page that edits workflows, for one server: what it offers (`GET /api/workflow-editor`), a check that writes nothing
 * (`POST /api/workflows/check`), and a definition as the text that its author wrote (`/api/workflows/:id/text`), so that comments survive.
 */
export function editorRoutes(
  { server, read, write }: DefinitionPlace,
  ctx: Around,
  open: () => Promise<{ readonly definitions: Definitions; readonly drafts: Drafts }>,
  editor: () => Editor,
): readonly HttpRoute[] {
  const place = server === undefined ? {} : { server };
  const before = () => requireEditor(editor());
  return [
    {
      ...place,
      method: "GET",
      path: "/api/workflow-editor",
      guard: read,
      handle: async () => (await import("./editor-desk.js")).deskOf(ctx, editor()),
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/check",
      guard: write,
      maxBytes: MAX_BODY,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["id"],
        properties: { id: ID, text: TEXT, definition: OBJECT_BODY },
      },
      async handle({ body }) {
        const { definitions } = await open();
        const { checkEdit } = await import("./editor-desk.js");
        return checkEdit(body as Parameters<typeof checkEdit>[0], await definitions.known());
      },
    },
    {
      ...place,
      method: "GET",
      path: "/api/workflows/:id/text",
      guard: read,
      async handle({ params: { id = "" } }, reply) {
        const { definitions } = await open();
        const loaded = await definitions.get(id);
        const found = loaded === undefined ? undefined : await definitions.text(loaded.file);
        if (loaded === undefined || found === undefined) throw definitionError("SVC_WORKFLOW_UNKNOWN", { id });
        const { checkText } = await import("./editor-desk.js");
        reply.header("etag", found.etag);
        const layout = await definitions.layout(id);
        return {
          ...checkText(found.text, id, loaded.format, await definitions.known()),
          etag: found.etag,
          layout,
          file: definitions.folder.shown(loaded.file),
        };
      },
    },
    {
      ...place,
      method: "GET",
      path: "/api/workflows/drafts/:id/text",
      guard: read,
      async handle({ params: { id = "" } }, reply) {
        const { definitions, drafts } = await open();
        const { text, file } = await drafts.get(id);
        const etag = etagOf(text);
        const { checkText } = await import("./editor-desk.js");
        reply.header("etag", etag);
        return { ...checkText(text, id, "yaml", await definitions.known()), etag, layout: null, file };
      },
    },
    {
      ...place,
      method: "PUT",
      path: "/api/workflows/drafts/:id/text",
      guard: write,
      maxBytes: MAX_BODY,
      body: { type: "object", additionalProperties: false, required: ["text"], properties: { text: TEXT } },
      before,
      handle: ({ params: { id = "" }, body, headers }, reply) =>
        withProblems(reply, async () => {
          const { drafts } = await open();
          const { text, file, problems } = await drafts.saveText(id, (body as { text: string }).text, conditionOf(headers));
          reply.header("etag", etagOf(text));
          return { id, file, problems };
        }),
    },
    {
      ...place,
      method: "PUT",
      path: "/api/workflows/:id/text",
      guard: write,
      maxBytes: MAX_BODY,
      body: { type: "object", additionalProperties: false, required: ["text"], properties: { text: TEXT } },
      before,
      handle: ({ params: { id = "" }, body, headers }, reply) =>
        withProblems(reply, async () => {
          const { definitions } = await open();
          const { loaded, created } = await definitions.saveText(id, (body as { text: string }).text, conditionOf(headers));
          reply.status(created ? 201 : 200).header("etag", loaded.etag);
          return { id, hash: loaded.hash, etag: loaded.etag, warnings: loaded.problems };
        }),
    },
  ];
}
