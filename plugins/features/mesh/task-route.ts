import { createHash } from "node:crypto";
import {
  answerToOf,
  codeOf,
  type HttpRequest,
  type HttpRoute,
  type Message,
  type ObjectSchema,
  optionsOfCall,
  type PeerAnswerTo,
  type Peers,
  type PluginContext,
  svcError,
  type TaskEvent,
  type TaskResult,
  type Topic,
} from "@svc/sdk";
import { localChain } from "./agent-chain.ts";
import type { Answers } from "./answers.ts";

interface TaskBody {
  readonly peer?: string;
  readonly agent: string;
  readonly message: string;
  readonly stream?: boolean;
  readonly freshSession?: boolean;
  readonly timeoutMinutes?: number;
  readonly chain?: readonly string[];
  readonly topic?: Topic;
  readonly context?: { readonly channel?: string; readonly chatId?: string; readonly sender?: string };
}

const MOST_KEY = 200;
/** Tasks of a channel among which a conversation is looked for. */
const LOOKED_AT = 500;
const ID = /^[A-Za-z0-9_:.-]{1,120}$/;

/** Of a task. A peer of a later version may send more (FAULT-72); from this machine, a member that is unknown is a mistake. */
const BODY = {
  type: "object",
  additionalProperties: true,
  required: ["agent", "message"],
  properties: {
    peer: { type: "string", minLength: 1, maxLength: 200 },
    agent: { type: "string", minLength: 1, maxLength: 200 },
    message: { type: "string", minLength: 1 },
    stream: { type: "boolean", default: false },
    freshSession: { type: "boolean" },
    timeoutMinutes: { type: "number", minimum: 1, maximum: 240 },
    chain: { type: "array", maxItems: 100, items: { type: "string", maxLength: 200 } },
    topic: {
      type: "object",
      additionalProperties: true,
      properties: { project: { type: "string", minLength: 1, maxLength: 500 }, subject: { type: "string", minLength: 1, maxLength: 500 } },
    },
    context: {
      type: "object",
      additionalProperties: true,
      properties: { channel: { type: "string", minLength: 1 }, chatId: { type: "string", minLength: 1 }, sender: { type: "string", minLength: 1 } },
    },
  },
} as const satisfies ObjectSchema;

/** Dependencies of the route. */
export interface TaskRouteOptions extends Pick<PluginContext, "agents" | "events" | "node" | "tasks" | "traces"> {
  readonly peers: Pick<Peers, "list">;
  readonly answers: Pick<Answers, "send">;
}

/**
 * `POST /mesh/task` (000:L180). From a peer: its task is run by an agent of this daemon, once for each key; what a peer hands over is never
 * handed on (MESH-10). From this machine: the task is stored here and run on the peer that `peer` names; with a conversation as `context`
 * it answers 202 at once, and what the peer says is a new message to the agent of that conversation (MESH-07).
 */
export function meshTaskRoute(options: TaskRouteOptions): HttpRoute {
  return {
    method: "POST",
    path: "/mesh/task",
    guard: "peer",
    body: BODY,
    async handle(request, reply) {
      const { stream = false, context } = request.body as TaskBody;
      if (request.caller.peer === undefined && context?.chatId !== undefined && !stream) {
        const { peer, ...task } = asked(request, options);
        reply.status(202);
        return { ok: true, ...(await options.answers.send(peer, task, await conversationOf(context, options))) };
      }
      const message = request.caller.peer === undefined ? outward(request, options) : inward(request, options);
      const out = stream ? reply.stream({ deferred: true }) : undefined;
      const listen = out && ((event: TaskEvent) => void out.event(event.type, event));
      const result = await rooted(request, options, () => run(options, message, listen));
      if (out === undefined) return result;
      out.event("done", result);
      out.end();
    },
  };
}

/** Returns a peer's request to a local agent as a message. */
function inward({ body, headers, caller }: HttpRequest, { agents, node }: TaskRouteOptions): Message {
  const { peer, agent, message, context = {}, freshSession, timeoutMinutes, chain, topic } = body as TaskBody;
  if (peer !== undefined && peer !== node.name && peer !== node.id)
    throw svcError(
      "SVC_MESH_FORWARDED",
      `This is ${node.id} and not '${peer}': a task is handed on once. In the sender's svc.json mesh.peers[].name must be '${node.id}' or '${node.name}'.`,
      {
        status: 421,
        field: "peer",
      },
    );
  if (agents.get(agent) === undefined) throw svcError("SVC_AGENT_UNKNOWN", `There is no agent '${agent}' on ${node.id}.`, { status: 404, field: "agent" });
  const key = keyOf(headers);
  return {
    entry: "task",
    channel: context.channel ?? "mesh",
    chat: context.chatId ?? caller.peer ?? "mesh",
    agent,
    text: message,
    sender: { id: context.sender ?? (caller.peer as string) },
    // Without a digest: after a restart a peer asks for a collected turn again under its first task's key, and perhaps with fewer of the messages.
    ...(key === undefined ? {} : { dedupKey: `mesh:${caller.peer}:${key}` }),
    options: {
      ...(freshSession === undefined ? {} : { freshSession }),
      ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
      ...(chain === undefined ? {} : { chain: localChain(chain, node.id, agent) }),
      ...(topic === undefined ? {} : { topic }),
    },
  };
}

/** Returns a local request to a peer's agent as a message. */
function outward(request: HttpRequest, options: TaskRouteOptions): Message {
  const { peer, ...task } = asked(request, options);
  return messageTo(peer, task);
}

function asked({ body, headers, caller }: HttpRequest, { peers }: TaskRouteOptions): PeerTask & { readonly peer: string } {
  const { peer, agent, message, freshSession, timeoutMinutes, context = {} } = body as TaskBody;
  const unknown = Object.keys(body as object).find((name) => !Object.hasOwn(BODY.properties, name));
  if (unknown !== undefined) throw svcError("SVC_HTTP_INVALID", `'${unknown}' is not a known field.`, { status: 400, path: unknown, field: unknown });
  const { autonomy = "act" } = caller.task ?? {};
  // A peer of an earlier version knows no such restriction.
  if (autonomy !== "act") throw svcError("SVC_MESH_RESTRICTED", `A run that may only ${autonomy} gives nothing to agents of other machines.`, { status: 403 });
  if (peer === undefined) throw svcError("SVC_MESH_PEER", "'peer' must name the daemon that has the agent; see svc mesh list.", { status: 400, field: "peer" });
  requirePeer(peers, peer);
  if ((context.channel === undefined) !== (context.chatId === undefined))
    throw svcError("SVC_MESH_CONTEXT", "'context.channel' and 'context.chatId' are given together or not at all.", { status: 400, field: "context" });
  const key = keyOf(headers);
  return {
    peer,
    agent,
    message,
    ...(key === undefined ? {} : { key: `http:${key}`, digest: digestOf([agent, message, freshSession, timeoutMinutes, context.channel, context.chatId]) }),
    options: {
      ...optionsOfCall(caller.task ?? {}),
      ...(freshSession === undefined ? {} : { freshSession }),
      ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
    },
  };
}

/** Returns the caller's key. Throws `SVC_MESH_KEY` for one that cannot be used: without it a retry would run twice. */
function keyOf({ "idempotency-key": key }: HttpRequest["headers"]): string | undefined {
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > MOST_KEY))
    throw svcError("SVC_MESH_KEY", `The header Idempotency-Key must have 1 to ${MOST_KEY} characters.`, { status: 400, field: "idempotency-key" });
  return key;
}

const digestOf = (asked: readonly unknown[]): string => createHash("sha256").update(JSON.stringify(asked)).digest("base64url");

/** Returns the conversation of its newest task. Throws if there is none. */
async function conversationOf({ channel = "", chatId = "" }: NonNullable<TaskBody["context"]>, { traces, agents }: TaskRouteOptions): Promise<PeerAnswerTo> {
  const found = (await traces.list({ channel, limit: LOOKED_AT })).find((trace) => trace.chat === chatId && agents.get(trace.agent) !== undefined);
  if (found === undefined)
    throw svcError("SVC_MESH_CONTEXT", `No agent has lately worked in the chat '${chatId}' of '${channel}', so that no answer can come there.`, {
      status: 400,
      field: "context.chatId",
    });
  return answerToOf(found);
}

/**
 * `POST /mesh/task/cancel`, for peers: ends the task that was handed over under that key. The body is that of the task: one that had not
 * arrived yet is taken down as well.
 */
export function meshCancelRoute(options: TaskRouteOptions, route: HttpRoute): HttpRoute {
  return {
    ...route,
    path: "/mesh/task/cancel",
    async handle(request) {
      if (request.caller.peer === undefined)
        throw svcError("SVC_MESH_PEER", "This is for peers: from this machine, svc daemon cancel ends a task wherever it runs.", { status: 400 });
      const { taskId } = await options.tasks.accept(inward(request, options));
      return { cancelled: await options.tasks.cancel(taskId, `cancelled by ${request.caller.peer}`) };
    },
  };
}

/** Throws `SVC_MESH_PEER` (404) for a name that is not configured. */
export function requirePeer(peers: Pick<Peers, "list">, peer: string): void {
  const known = peers.list().map(({ name }) => name);
  if (!known.includes(peer))
    throw svcError(
      "SVC_MESH_PEER",
      `There is no peer '${peer}' in mesh.peers of svc.json; there ${known.length === 0 ? "is none" : `are ${known.join(", ")}`}.`,
      { status: 404, field: "peer" },
    );
}

/** Task to run on a peer. */
export interface PeerTask {
  readonly agent: string;
  readonly message: string;
  readonly key?: string;
  /** Of the request that the key stands for, where the caller has chosen the key. */
  readonly digest?: string;
  readonly options?: Message["options"];
}

/** A task for an agent of a peer, as this daemon stores it. */
export function messageTo(peer: string, { agent, message, key, digest, options = {} }: PeerTask): Message {
  return {
    entry: "task",
    channel: CHANNEL,
    chat: `${peer}/${agent}`,
    agent,
    text: message,
    ...(key === undefined ? {} : { dedupKey: `mesh-to:${peer}:${key}` }),
    ...(digest === undefined ? {} : { dedupDigest: digest }),
    options,
    facts: { peer },
  };
}

/** The channel of tasks for peers. */
export const CHANNEL = "mesh";

/** A root and a cause come from a peer alone (MESH-06). */
function rooted<T>({ caller, headers }: HttpRequest, { events }: TaskRouteOptions, work: () => Promise<T>): Promise<T> {
  if (caller.task !== undefined) return events.within({ rootId: caller.task.rootId }, work);
  const { "x-svc-root-id": rootId, "x-svc-parent-id": parentId } = headers;
  if (caller.peer === undefined || typeof rootId !== "string" || !ID.test(rootId)) return work();
  return events.within({ rootId, ...(typeof parentId === "string" && ID.test(parentId) ? { parentId } : {}) }, work);
}

/** The same key again is the first task: its result, waited for where it is still to come. */
async function run(
  { tasks }: TaskRouteOptions,
  message: Message,
  listen: ((event: TaskEvent) => void) | undefined,
): Promise<TaskResult & { readonly duplicate?: true }> {
  try {
    return await tasks.run(message, listen);
  } catch (error) {
    const { task } = error as { task?: string };
    if (codeOf(error) !== "SVC_TASK_DUPLICATE" || task === undefined) throw error;
    return { ...(await tasks.result(task)), duplicate: true };
  }
}
