import { type Agents, type HttpReply, type HttpRequest, type HttpRoute, type Schema, svcError } from "@svc/sdk";
import type { Coordinator } from "./coordinator.ts";
import type { HookName } from "./hook-event.ts";
import type { Mode } from "./sessions.ts";

/** A hook hands over what the person typed: it may be long. */
const MOST_BYTES = 4 * 1_048_576;

const who = {
  pid: { type: "integer", minimum: 1, description: "a process: the program of a session, or one that it has started" },
  session: { type: "string", minLength: 1, description: "a session's id" },
} as const satisfies Record<string, Schema>;
const body = (properties: Readonly<Record<string, Schema>>, required: readonly string[] = []): Schema => ({
  type: "object",
  additionalProperties: false,
  properties: { ...who, ...properties },
  required: [...required],
});

/** The routes of the hooks, of the command line and of the tools: for this machine alone. What serves them is loaded by the first call. */
export function attachRoutes(agents: Pick<Agents, "get">, coordinator: () => Promise<Coordinator>, bound: () => void): readonly HttpRoute[] {
  const hooks = (["session-start", "prompt", "stop", "session-end", "wait"] as const).map(
    (name): HttpRoute => ({
      method: "POST",
      path: `/attach/${name}`,
      guard: "loopback",
      raw: true,
      maxBytes: MOST_BYTES,
      handle: (request, reply) => answerHook(name, coordinator, request, reply),
    }),
  );
  return [
    ...hooks,
    {
      method: "POST",
      path: "/attach/bind",
      guard: "loopback",
      body: body({ agent: { type: "string", minLength: 1 }, mode: { type: "string", enum: ["manual", "notify", "auto"], default: "manual" } }, ["agent"]),
      async handle(request) {
        const { agent, mode = "manual", ...named } = request.body as Named & { agent: string; mode?: Mode };
        if (agents.get(agent) === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${agent}'; see svc agent list.`, { status: 404 });
        const open = await coordinator();
        const { placeOf } = await import("./place.js");
        const process = await placeOf(open.sessions, named);
        bound();
        const from = await open.bind(process.key, agent, mode);
        return { agent, mode, session: process.session, ...(from === undefined ? {} : { movedFrom: from.session }) };
      },
    },
    {
      method: "POST",
      path: "/attach/detach",
      guard: "loopback",
      body: body({ agent: { type: "string", minLength: 1 } }),
      async handle(request) {
        const { agent, ...named } = request.body as Named & { agent?: string };
        const open = await coordinator();
        const { placeOf, wearerOf } = await import("./place.js");
        const process = agent === undefined ? await placeOf(open.sessions, named) : await wearerOf(open.sessions, agent);
        if (process.agent === undefined) throw unbound();
        await open.release(process.key, "detached", false);
        return { agent: process.agent, session: process.session };
      },
    },
    {
      method: "POST",
      path: "/attach/next",
      guard: "loopback",
      body: body({ max: { type: "integer", minimum: 1, maximum: 5 } }),
      async handle(request) {
        const { max, ...named } = request.body as Named & { max?: number };
        const open = await coordinator();
        const [{ placeOf }, { handOut }] = await Promise.all([import("./place.js"), import("./hand-out.js")]);
        return handOut(open, await placeOf(open.sessions, named), max);
      },
    },
    {
      method: "POST",
      path: "/attach/answer",
      guard: "loopback",
      body: body({ id: { type: "string", minLength: 1 }, text: { type: "string", minLength: 1 }, refuse: { type: "string", minLength: 1 } }, ["id"]),
      async handle(request) {
        const { id, text, refuse, ...named } = request.body as Named & { id: string; text?: string; refuse?: string };
        const open = await coordinator();
        const [{ placeOf }, { settle }] = await Promise.all([import("./place.js"), import("./hand-out.js")]);
        return { state: await settle(open, await placeOf(open.sessions, named), { id, text, refuse }) };
      },
    },
    {
      method: "GET",
      path: "/attach/sessions",
      guard: "loopback",
      handle: async () => (await import("./hand-out.js")).listSessions(await coordinator()),
    },
  ];
}

interface Named {
  readonly pid?: number;
  readonly session?: string;
}

const unbound = () => svcError("SVC_ATTACH_UNBOUND", "Nothing is bound: this session wears no svc agent. Bind one with: svc attach <agent>", { status: 409 });

/** Whatever a hook sends and whatever happens here, its program carries on: 200, and no byte where there is nothing to say (ATT-06). */
async function answerHook(hook: HookName, coordinator: () => Promise<Coordinator>, { headers, raw, signal }: HttpRequest, reply: HttpReply): Promise<void> {
  const { readHook } = await import("./hook-event.js");
  const event = readHook(hook, headers, raw ?? new Uint8Array());
  if (event === undefined) return reply.send("", "text/plain");
  const open = await coordinator();
  if (hook !== "wait") {
    const answer = await open.hook(event);
    return reply.send(answer, answer === "" ? "text/plain" : "application/json");
  }
  const words = await open.wait(event, signal);
  if (words === "") reply.status(204);
  reply.send(words, "text/plain; charset=utf-8");
}
