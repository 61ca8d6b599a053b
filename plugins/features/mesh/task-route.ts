import { codeOf, type HttpRequest, type HttpRoute, type Message, type Peers, type PluginContext, svcError, type TaskEvent, type TaskResult } from "@svc/sdk";

interface TaskBody {
  readonly peer?: string;
  readonly agent: string;
  readonly message: string;
  readonly stream?: boolean;
  readonly freshSession?: boolean;
  readonly timeoutMinutes?: number;
  readonly chain?: readonly string[];
  readonly context?: { readonly channel?: string; readonly chatId?: string; readonly sender?: string };
}

const MOST_KEY = 200;
const ID = /^[A-Za-z0-9_:.-]{1,120}$/;

/** What the route works with. */
export interface TaskRouteOptions extends Pick<PluginContext, "agents" | "events" | "node" | "tasks"> {
  readonly peers: Pick<Peers, "list">;
}

/**
 * `POST /mesh/task` (000:L180). From a peer: its task is run by an agent of this daemon, once for each key; what a peer hands over is never
 * handed on (MESH-10). From this machine: the task is stored here and run on the peer that `peer` names.
 */
export function meshTaskRoute(options: TaskRouteOptions): HttpRoute {
  return {
    method: "POST",
    path: "/mesh/task",
    guard: "peer",
    body: {
      type: "object",
      required: ["agent", "message"],
      properties: {
        peer: { type: "string", minLength: 1, maxLength: 200 },
        agent: { type: "string", minLength: 1, maxLength: 200 },
        message: { type: "string", minLength: 1 },
        stream: { type: "boolean", default: false },
        freshSession: { type: "boolean" },
        timeoutMinutes: { type: "number", minimum: 1, maximum: 240 },
        chain: { type: "array", maxItems: 100, items: { type: "string", maxLength: 200 } },
        context: {
          type: "object",
          properties: { channel: { type: "string", minLength: 1 }, chatId: { type: "string", minLength: 1 }, sender: { type: "string", minLength: 1 } },
        },
      },
    },
    async handle(request, reply) {
      const { stream = false } = request.body as TaskBody;
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

/** What a peer asks of an agent here. */
function inward({ body, headers, caller }: HttpRequest, { agents, node }: TaskRouteOptions): Message {
  const { peer, agent, message, context = {}, freshSession, timeoutMinutes, chain } = body as TaskBody;
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
  const key = headers["idempotency-key"];
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > MOST_KEY))
    throw svcError("SVC_MESH_KEY", `The header Idempotency-Key must have 1 to ${MOST_KEY} characters.`, { status: 400, field: "idempotency-key" });
  return {
    entry: "task",
    channel: context.channel ?? "mesh",
    chat: context.chatId ?? caller.peer ?? "mesh",
    agent,
    text: message,
    sender: { id: context.sender ?? (caller.peer as string) },
    ...(key === undefined ? {} : { dedupKey: `mesh:${caller.peer}:${key}` }),
    options: {
      ...(freshSession === undefined ? {} : { freshSession }),
      ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
      ...(chain === undefined ? {} : { chain }),
    },
  };
}

/** What this machine asks of an agent on a peer. */
function outward({ body, headers }: HttpRequest, { peers }: TaskRouteOptions): Message {
  const { peer, agent, message, freshSession, timeoutMinutes, context = {} } = body as TaskBody;
  if (peer === undefined) throw svcError("SVC_MESH_PEER", "'peer' must name the daemon that has the agent; see svc mesh list.", { status: 400, field: "peer" });
  requirePeer(peers, peer);
  if ((context.channel === undefined) !== (context.chatId === undefined))
    throw svcError("SVC_MESH_CONTEXT", "'context.channel' and 'context.chatId' are given together or not at all.", { status: 400, field: "context" });
  const key = headers["idempotency-key"];
  return messageTo(peer, {
    agent,
    message,
    ...(typeof key === "string" && key !== "" && key.length <= MOST_KEY ? { key: `http:${key}` } : {}),
    options: { ...(freshSession === undefined ? {} : { freshSession }), ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }) },
  });
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

/** What is run on a peer. */
export interface PeerTask {
  readonly agent: string;
  readonly message: string;
  readonly key?: string;
  readonly options?: Message["options"];
}

/** A task for an agent of a peer, as this daemon stores it. */
export function messageTo(peer: string, { agent, message, key, options = {} }: PeerTask): Message {
  return {
    entry: "task",
    channel: CHANNEL,
    chat: `${peer}/${agent}`,
    agent,
    text: message,
    ...(key === undefined ? {} : { dedupKey: `mesh-to:${peer}:${key}` }),
    options,
    facts: { peer },
  };
}

/** The channel of tasks for peers. */
export const CHANNEL = "mesh";

/** A root and a cause come from a peer alone (MESH-06). */
function rooted<T>({ caller, headers }: HttpRequest, { events }: TaskRouteOptions, work: () => Promise<T>): Promise<T> {
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
