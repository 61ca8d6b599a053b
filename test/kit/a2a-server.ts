import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

/** How the server of a test behaves. */
export interface ServerOptions {
  readonly version?: "0.1" | "0.3" | "1.0";
  readonly streaming?: boolean;
  readonly token?: string;
  /** Cuts each stream after so many of its events. */
  readonly cutAfter?: number;
  /** The address that the card names. */
  readonly elsewhere?: string;
}

interface RemoteTask {
  readonly id: string;
  readonly contextId: string;
  readonly events: object[];
  readonly hear: Set<() => void>;
  over: boolean;
}

const METHODS = {
  "0.1": { stream: "tasks/sendSubscribe", send: "tasks/send", resume: "tasks/resubscribe", cancel: "tasks/cancel" },
  "0.3": { stream: "message/stream", send: "message/send", resume: "tasks/resubscribe", cancel: "tasks/cancel" },
  "1.0": { stream: "SendStreamingMessage", send: "SendMessage", resume: "SubscribeToTask", cancel: "CancelTask" },
} as const;

/**
 * An A2A server of one generation, strict about its shapes: what another generation would send is refused. It says the words behind `say`,
 * fails at `fail`, works for ever at `endless`, is silent at `silent`, and asks back at `ask`.
 */
export async function startServer({ version = "0.3", streaming = true, token, cutAfter = Number.POSITIVE_INFINITY, elsewhere }: ServerOptions = {}) {
  const tasks = new Map<string, RemoteTask>();
  const sockets = new Set<Socket>();
  const seen = { authorization: [] as (string | undefined)[], messages: [] as string[], canceled: 0, streams: 0, asked: [] as string[] };
  const names = METHODS[version];
  const v1 = version === "1.0";
  const state = (name: string) => (v1 ? `TASK_STATE_${name.toUpperCase().replaceAll("-", "_")}` : name);
  const part = (text: string) => (v1 ? { text } : version === "0.3" ? { kind: "text", text } : { type: "text", text });

  const server = createServer(async (request, response) => {
    seen.asked.push(`${request.method} ${request.url}`);
    if (request.url?.startsWith("/.well-known/")) return card(request, response);
    seen.authorization.push(request.headers.authorization);
    if (token !== undefined && request.headers.authorization !== `Bearer ${token}`) return response.writeHead(401).end();
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method, params } = JSON.parse(text) as { id: number; method: string; params: Record<string, never> };
    const fault = (code: number, message: string) => answer(response, { jsonrpc: "2.0", id, error: { code, message } });
    if (v1 && request.headers["a2a-version"] !== "1.0") return fault(-32009, "the version is 1.0 here");
    if (method === names.cancel) {
      const task = tasks.get(params["id"]);
      if (task === undefined || task.over) return fault(-32002, "it cannot be canceled");
      seen.canceled += 1;
      tell(task, "canceled", undefined, true);
      return answer(response, { jsonrpc: "2.0", id, result: { id: task.id, contextId: task.contextId, status: { state: state("canceled") } } });
    }
    if (method === names.resume) {
      const task = tasks.get(params["id"]);
      return task === undefined ? fault(-32001, "no such task") : stream(response, id, task, Number(request.headers["last-event-id"] ?? 0));
    }
    if (method !== names.stream && method !== names.send) return fault(-32601, `there is no ${method}`);
    const said = wordsOf(params);
    if (said === undefined) return fault(-32602, "the message has another generation's shape");
    seen.messages.push(said);
    const { contextId = params["sessionId"] ?? randomUUID() } = (params["message"] ?? {}) as { contextId?: string };
    const task: RemoteTask = { id: params["id"] ?? randomUUID(), contextId, events: [], hear: new Set(), over: false };
    tasks.set(task.id, task);
    if (said.includes("silent")) return;
    void work(task, said);
    if (method === names.stream) return stream(response, id, task, 0);
    await new Promise<void>((resolve) => (task.over ? resolve() : task.hear.add(() => task.over && resolve())));
    const end = task.events.at(-1) as { status?: object; statusUpdate?: { status: object } };
    const whole = {
      id: task.id,
      contextId: task.contextId,
      ...(v1 ? {} : { kind: "task" }),
      status: end.status ?? end.statusUpdate?.status,
      artifacts: [{ artifactId: "a", parts: [part(wordsBehind(said))] }],
    };
    return answer(response, { jsonrpc: "2.0", id, result: v1 ? { task: whole } : whole });
  });

  function wordsOf({ message }: { message?: { role?: string; messageId?: string; parts?: Record<string, string>[] } }): string | undefined {
    const [first] = message?.parts ?? [];
    const good = {
      "0.1": message?.role === "user" && first?.["type"] === "text",
      "0.3": message?.role === "user" && first?.["kind"] === "text" && message.messageId !== undefined,
      "1.0": message?.role === "ROLE_USER" && first?.["kind"] === undefined && message.messageId !== undefined,
    }[version];
    return good ? first?.["text"] : undefined;
  }

  function card(_request: IncomingMessage, response: ServerResponse): void {
    const path = _request.url === "/.well-known/agent.json" ? "0.1" : "later";
    if ((version === "0.1") !== (path === "0.1")) return void response.writeHead(404).end();
    const url = elsewhere ?? `${origin()}/rpc`;
    const capabilities = { streaming };
    answer(
      response,
      v1
        ? { name: "x", capabilities, supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }] }
        : { name: "x", url, capabilities, ...(version === "0.3" ? { protocolVersion: "0.3.0" } : {}) },
    );
  }

  const answer = (response: ServerResponse, body: object) => void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));

  async function work(task: RemoteTask, said: string): Promise<void> {
    tell(task, "working", undefined, false);
    if (said.includes("endless")) return;
    if (said.includes("fail")) return tell(task, "failed", "as asked", true);
    if (said.includes("ask")) return tell(task, "input-required", "which one?", true);
    const words = wordsBehind(said).split(/(?<= )/);
    for (const [at, word] of words.entries()) {
      await new Promise((resolve) => setTimeout(resolve, 5));
      const artifact = { artifactId: "a", parts: [part(word)] };
      const ids = { taskId: task.id, contextId: task.contextId };
      push(
        task,
        v1
          ? { artifactUpdate: { ...ids, artifact, append: at > 0 } }
          : { ...ids, id: task.id, kind: "artifact-update", artifact: { ...artifact, append: at > 0 }, append: at > 0 },
      );
    }
    tell(task, "completed", undefined, true);
  }

  function tell(task: RemoteTask, name: string, words: string | undefined, final: boolean): void {
    if (task.over) return;
    const status = { state: state(name), ...(words === undefined ? {} : { message: { role: "agent", parts: [part(words)] } }) };
    task.over = final;
    const ids = { taskId: task.id, contextId: task.contextId };
    push(task, v1 ? { statusUpdate: { ...ids, status } } : { ...ids, id: task.id, kind: "status-update", status, final });
  }

  function push(task: RemoteTask, event: object): void {
    task.events.push(event);
    for (const hear of [...task.hear]) hear();
  }

  function stream(response: ServerResponse, id: number, task: RemoteTask, after: number): void {
    seen.streams += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    let told = after;
    let sent = 0;
    const say = () => {
      for (; told < task.events.length && sent < cutAfter; sent += 1) {
        response.write(`id: ${told + 1}\r\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result: task.events[told] })}\r\n\r\n`);
        told += 1;
      }
      if (sent >= cutAfter && !(task.over && told === task.events.length)) setImmediate(() => response.destroy());
      else if (task.over) response.end();
    };
    task.hear.add(say);
    response.once("close", () => task.hear.delete(say));
    say();
  }

  server.on("connection", (socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: origin(),
    seen,
    /** Events of all tasks so far. */
    told: () => [...tasks.values()].reduce((sum, task) => sum + task.events.length, 0),
    /** Tasks that somebody still listens to. */
    heard: () => [...tasks.values()].filter((task) => task.hear.size > 0 && !task.over).length,
    close: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** What is to be said: all behind the last `say`. */
const wordsBehind = (said: string): string => said.slice(said.lastIndexOf("say ") + 4);
