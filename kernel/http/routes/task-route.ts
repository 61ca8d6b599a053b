import { createHash } from "node:crypto";
import { type EventStream, type HttpRequest, type HttpRoute, type Message, optionsOfCall, type TaskEvent, type TaskResult } from "@svc/sdk";
import { fail } from "../../base/errors.ts";
import type { Kernel } from "../../core/boot/kernel-api.ts";
import { type FrameStream, frameOf } from "../event-stream.ts";

interface TaskBody {
  readonly agent: string;
  readonly message: string;
  readonly contextStrategy?: string;
  readonly freshSession?: boolean;
  /** Minutes the run may take, in place of the agent's `maxExecutionMinutes` (000:L365). */
  readonly timeoutMinutes?: number;
  readonly context?: { readonly channel?: string; readonly chatId?: string; readonly sender?: string };
}

const MAX_KEY = 200;

/**
 * `POST /task` (000:L177): runs an agent. Streams its events as `event: <type>` frames, the last one `event: done` with the result; `Accept:
 * application/json` gets the result alone. The task continues when the caller disconnects. A repeated `Idempotency-Key` gets the result of the first
 * task with that key, with `duplicate: true`, and waits for it if needed; with another request it is refused with 422 `SVC_TASK_KEY_REUSED`.
 */
export function taskRoute(kernel: Pick<Kernel, "agents" | "bus" | "strategies" | "tasks">): HttpRoute {
  const frames = createFramer();
  return {
    method: "POST",
    path: "/task",
    summary: "One message to an agent; its answer as a stream, or as JSON",
    guard: "peer",
    body: {
      type: "object",
      required: ["agent", "message"],
      properties: {
        agent: { type: "string", minLength: 1 },
        message: { type: "string", minLength: 1 },
        contextStrategy: { type: "string" },
        freshSession: { type: "boolean" },
        timeoutMinutes: { type: "number", minimum: 1, maximum: 240 },
        context: {
          type: "object",
          properties: { channel: { type: "string", minLength: 1 }, chatId: { type: "string", minLength: 1 }, sender: { type: "string", minLength: 1 } },
        },
      },
    },
    async handle(request, reply) {
      const message = messageOf(request, () => kernel.strategies());
      if (kernel.agents.get(message.agent) === undefined) throw fail("SVC_AGENT_UNKNOWN", { agent: message.agent });
      // Every stream of this server takes frames that are serialised already; plugins are only promised events.
      const stream = wantsJson(request) ? undefined : (reply.stream({ deferred: true }) as FrameStream);
      const listen = stream && ((event: TaskEvent) => !stream.closed && stream.write(frames(event)));
      const result = await answerTo(request, message, stream, listen);
      if (stream === undefined) return result;
      stream.event("done", result);
      stream.end();
    },
  };

  async function answerTo(
    request: HttpRequest,
    message: Message,
    stream: EventStream | undefined,
    listen: ((event: TaskEvent) => void) | undefined,
  ): Promise<Partial<TaskResult>> {
    try {
      return await inRoot(kernel, request, () => kernel.tasks.run(message, listen));
    } catch (error) {
      return firstAnswer(error, stream, listen);
    }
  }

  /** The same key again: the caller has lost the answer, and gets that of the first time, waiting for it where it is still to come. */
  async function firstAnswer(error: unknown, stream: EventStream | undefined, listen: ((event: TaskEvent) => void) | undefined): Promise<Partial<TaskResult>> {
    const { code, task: taskId } = error as { code?: string; task?: string };
    if (code !== "SVC_TASK_DUPLICATE" || taskId === undefined) throw error;
    stream?.event("accepted", { taskId, duplicate: true });
    const answered = { ...((await kernel.tasks.again(taskId, listen)) ?? unrecorded(taskId)), duplicate: true };
    return answered;
  }
}

/** A key outlives the record of its task: nobody may be told that this was done. */
const unrecorded = (taskId: string) => ({
  ok: false,
  taskId,
  status: "error" as const,
  error: "Nothing is recorded of the task that had this key first: its message was dropped, or its trace is gone. Send it with a new key.",
  errorKind: "unrecorded",
});

/** `POST /ask` (000:L178): one question to `node.defaultAgent`, one answer. The text is in `message` or `text`. */
export function askRoute(kernel: Pick<Kernel, "defaultAgent" | "tasks">): HttpRoute {
  return {
    method: "POST",
    path: "/ask",
    summary: "One question to an agent, and its answer alone",
    guard: "peer",
    body: { type: "object", properties: { message: { type: "string", minLength: 1 }, text: { type: "string", minLength: 1 } } },
    async handle({ body, caller }) {
      const given = body as { readonly message?: string; readonly text?: string };
      const text = given.message ?? given.text;
      if (text === undefined) throw fail("SVC_HTTP_INVALID", { subject: "'message'", reason: "is missing", path: "message", field: "message" });
      const agent = kernel.defaultAgent;
      if (agent === undefined) throw fail("SVC_AGENT_NO_DEFAULT");
      const { ok, reply, taskId, error, errorKind } = await kernel.tasks.run({
        entry: "ask",
        channel: "http",
        chat: "ask",
        text,
        agent,
        options: optionsOfCall(caller.task ?? {}),
      });
      return { agent, reply, taskId, ...(ok ? {} : { ok, error, errorKind }) };
    },
  };
}

/** Returns the frame of an event. All callers of a collected turn receive the same event one after the other: cache its serialisation. */
function createFramer(): (event: TaskEvent) => string {
  let last: TaskEvent | undefined;
  let frame = "";
  return (event) => {
    if (event === last) return frame;
    const { type, ...facts } = event;
    last = event;
    frame = frameOf(type, facts);
    return frame;
  };
}

/** Runs an agent's request under the root of its own task. */
const inRoot = <T>({ bus }: Pick<Kernel, "bus">, { caller: { task } }: HttpRequest, run: () => T): T =>
  task === undefined ? run() : bus.within({ rootId: task.rootId }, run);

function messageOf({ body, headers, caller }: HttpRequest, strategies: Kernel["strategies"]): Message & { readonly agent: string } {
  const { agent, message, contextStrategy, freshSession, timeoutMinutes, context = {} } = body as TaskBody;
  if (contextStrategy !== undefined && !strategies().includes(contextStrategy)) throw unknownStrategy(strategies());
  const key = headers["idempotency-key"];
  if (typeof key === "string" && (key === "" || key.length > MAX_KEY))
    throw fail("SVC_HTTP_INVALID", { subject: "The Idempotency-Key header", reason: `must have 1 to ${MAX_KEY} characters`, field: "idempotency-key" });
  const who = caller.peer ?? caller.token?.id ?? "local";
  const { channel = "http", chatId: chat = "default", sender } = context;
  const asked = [agent, message, channel, chat, sender, contextStrategy, freshSession, timeoutMinutes];
  return {
    entry: "task",
    channel,
    chat,
    text: message,
    agent,
    ...(sender === undefined ? {} : { sender: { id: sender } }),
    ...(typeof key === "string" ? { dedupKey: `http:${who}:${key}`, dedupDigest: digestOf(asked) } : {}),
    options: {
      ...optionsOfCall(caller.task ?? {}),
      ...(contextStrategy === undefined ? {} : { contextStrategy }),
      ...(freshSession === undefined ? {} : { freshSession }),
      ...(timeoutMinutes === undefined ? {} : { timeoutMinutes }),
    },
  };
}

const digestOf = (asked: readonly unknown[]): string => createHash("sha256").update(JSON.stringify(asked)).digest("base64url");

function unknownStrategy(known: readonly string[]): Error {
  const reason = known.length === 0 ? "cannot be chosen: no plugin here builds contexts" : `must be one of ${known.join(", ")}`;
  return fail("SVC_HTTP_INVALID", { subject: "'contextStrategy'", reason, path: "contextStrategy", field: "contextStrategy" });
}

/** Whether the client accepts JSON and no event stream. */
function wantsJson({ headers }: HttpRequest): boolean {
  const accept = headers.accept ?? "";
  return accept.includes("application/json") && !accept.includes("text/event-stream");
}
