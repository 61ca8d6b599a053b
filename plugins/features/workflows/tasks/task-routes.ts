import { codeOf, type HttpReply, type HttpRequest, type HttpRoute, type SvcError, svcError } from "@svc/sdk";
import { type Place, whoIs } from "../runs/run-routes.ts";
import type { TaskQuery, Tasks } from "./tasks.ts";

const TEXT = { type: "string", minLength: 1, maxLength: 512 } as const;

/** The routes of tasks (WORKFLOWS 8), for one server. A GET changes nothing: addresses are opened by previews of links. */
export function taskRoutes({ server, read, write }: Place, open: () => Promise<{ readonly tasks: Tasks }>): readonly HttpRoute[] {
  const place = server === undefined ? {} : { server };
  const tasks = async () => (await open()).tasks;
  return [
    {
      ...place,
      method: "GET",
      path: "/api/workflows/tasks",
      guard: read,
      query: {
        type: "object",
        properties: {
          actor: TEXT,
          state: { enum: ["open", "completed", "canceled"] },
          run: TEXT,
          limit: { type: "integer", minimum: 1, maximum: 200 },
          cursor: TEXT,
        },
      },
      handle: async ({ query: { limit, ...query } }) =>
        (await tasks()).list({ ...(query as TaskQuery), ...(limit === undefined ? {} : { limit: Number(limit) }) }),
    },
    {
      ...place,
      method: "GET",
      path: "/api/workflows/tasks/:id",
      guard: read,
      handle: async ({ params: { id = "" } }) => (await tasks()).get(id),
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/tasks/:id/submit",
      guard: write,
      forPeople: true,
      maxBytes: 1_048_576,
      body: { type: "object", additionalProperties: true },
      async handle(request, reply) {
        const { values, actor, transition } = submissionOf(request);
        try {
          const by = actor ?? whoIs(request);
          return await (await tasks()).submit(request.params["id"] ?? "", { values, by, ...(transition === undefined ? {} : { transition }) });
        } catch (error) {
          return refused(error, reply);
        }
      },
    },
    {
      ...place,
      method: "POST",
      path: "/api/workflows/tasks/:id/comment",
      guard: write,
      body: {
        type: "object",
        additionalProperties: false,
        required: ["text"],
        properties: { text: { type: "string", minLength: 1, maxLength: 4_000 }, by: { type: "string", minLength: 1, maxLength: 100 } },
      },
      async handle(request, reply) {
        const { text } = request.body as { readonly text: string };
        try {
          return await (await tasks()).comment(request.params["id"] ?? "", text, whoIs(request));
        } catch (error) {
          return refused(error, reply);
        }
      },
    },
  ];
}

/** The body is the values, unless it has a key of that name. */
function submissionOf({ body }: HttpRequest): { readonly values: Record<string, unknown>; readonly actor?: string; readonly transition?: string } {
  const given = (body ?? {}) as Record<string, unknown>;
  if (!Object.hasOwn(given, "values")) return { values: given };
  const { values, actor, transition } = given;
  if (typeof values !== "object" || values === null || Array.isArray(values))
    throw svcError("type", "'values' must be an object with the fields of the form.", { status: 400, field: "values" });
  return {
    values: values as Record<string, unknown>,
    ...(typeof actor === "string" && actor !== "" ? { actor: actor.slice(0, 100) } : {}),
    ...(typeof transition === "string" && transition !== "" ? { transition } : {}),
  };
}

/** A task that somebody else was first with is told with its state, who and when. */
function refused(error: unknown, reply: HttpReply): unknown {
  if (codeOf(error) !== "task-closed") throw error;
  const { message, code, state, completedBy, completedAt } = error as SvcError & Record<string, unknown>;
  reply.status(409);
  return { error: message, code, state, completedBy, completedAt };
}
