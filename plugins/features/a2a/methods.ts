import type { CliHost } from "@svc/sdk";
import { named, readMessage } from "./content.ts";
import { COMMON, type Dialect, stateOfV1, V1 } from "./dialect.ts";
import { type Notification, Notifications } from "./notifications.ts";
import { type RpcCall, RpcError } from "./rpc.ts";
import { runTask } from "./runner.ts";
import type { Task } from "./task.ts";
import { TaskBook } from "./task-book.ts";

/** Answer of a method: a value, or the task whose frames it streams, from `after` on. */
export type Answer = { readonly result: unknown } | { readonly task: Task; readonly dialect: Dialect; readonly after?: number };

/** Dependencies of the methods. */
export interface MethodsOptions {
  readonly agent: string;
  readonly cli: Pick<CliHost, "request" | "stream">;
  /** Callers must show a bearer. */
  readonly guarded: boolean;
  /** The card for those who have shown a bearer; undefined where none is asked for. */
  readonly extendedCard: () => object | undefined;
}

type Params = RpcCall["params"];
type Method = (params: Params, signal: AbortSignal, lastEventId: string | undefined) => Answer | Promise<Answer>;

/** The methods of all three generations, by their names. */
export function methodsOf(options: MethodsOptions): ReadonlyMap<string, Method> {
  const book = new TaskBook();
  const notifications = new Notifications(options.cli);

  function start(task: Task, said: { readonly text: string; readonly messageId?: string }): Task {
    task.history.push({ role: "user", messageId: said.messageId ?? `${task.id}:${task.history.length}`, text: said.text });
    void runTask(task, said.text, options);
    return task;
  }

  /** Generation 0.1: the caller names the task. The same id while it runs is the same task: a call that was sent again. */
  function openNamed(params: Params): Task {
    const { id, sessionId } = named({ id: params["id"], sessionId: params["sessionId"] });
    const said = readMessage(params["message"]);
    const known = id === undefined ? undefined : book.find(id);
    if (known !== undefined && !known.isFinal) return known;
    const contextId = sessionId ?? known?.contextId;
    return start(book.add({ ...(id === undefined ? {} : { id }), ...(contextId === undefined ? {} : { contextId }) }), said);
  }

  /** Later generations: the server names it. A message to a task that is over is a new task of the same context. */
  function open(params: Params, dialect: Dialect): Task {
    const said = readMessage(params["message"]);
    const former = said.taskId === undefined ? undefined : book.get(said.taskId);
    if (former !== undefined && !former.isFinal) throw new RpcError("unsupported", "This task still works; wait for its end, or cancel it.");
    if (former !== undefined) throw new RpcError("unsupported", "This task is over; send a message with its contextId and without its taskId.");
    const configuration = recordOf(params["configuration"]);
    const wanted = configuration["pushNotificationConfig"] ?? configuration["taskPushNotificationConfig"];
    const task = book.add(said.contextId === undefined ? {} : { contextId: said.contextId });
    if (wanted !== undefined && wanted !== null) notifications.add(task, wanted, dialect);
    return start(task, said);
  }

  const send =
    (dialect: Dialect): Method =>
    async (params, signal) => {
      const { blocking, returnImmediately, historyLength } = recordOf(params["configuration"]);
      const task = open(params, dialect);
      if (blocking !== false && returnImmediately !== true) await task.ended(signal);
      return { result: dialect.sent(task, lengthOf(historyLength)) };
    };
  const get =
    (dialect: Dialect): Method =>
    (params) => ({ result: dialect.task(book.get(params["id"]), lengthOf(params["historyLength"])) });
  const cancel =
    (dialect: Dialect): Method =>
    async (params, signal) => {
      const task = book.get(params["id"]);
      if (task.isFinal) throw new RpcError("notCancelable", `This task is over: it is ${task.state}.`);
      task.cancel();
      await task.ended(signal);
      // The task may have ended by itself first.
      if (task.state !== "canceled") throw new RpcError("notCancelable", `This task is over: it is ${task.state}.`);
      return { result: dialect.task(task) };
    };
  const follow =
    (dialect: Dialect, overIsAnError: boolean): Method =>
    (params, _signal, lastEventId) => {
      const task = book.get(params["id"]);
      const after = lastEventId === undefined ? undefined : /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : Number.NaN;
      if (after !== undefined && !(after <= task.seq)) throw new RpcError("params", "The header last-event-id must be the id of an event of this task.");
      if (after === undefined && overIsAnError && task.isFinal) throw new RpcError("unsupported", `This task is over: it is ${task.state}.`);
      return { task, dialect, ...(after === undefined ? {} : { after }) };
    };

  const notify = notifyMethods(book, notifications);
  return new Map<string, Method>([
    [
      "tasks/send",
      async (params, signal) => {
        const task = openNamed(params);
        await task.ended(signal);
        return { result: COMMON.task(task, lengthOf(params["historyLength"])) };
      },
    ],
    ["tasks/sendSubscribe", (params) => ({ task: openNamed(params), dialect: COMMON })],
    ["message/send", send(COMMON)],
    ["SendMessage", send(V1)],
    ["message/stream", (params) => ({ task: open(params, COMMON), dialect: COMMON })],
    ["SendStreamingMessage", (params) => ({ task: open(params, V1), dialect: V1 })],
    ["tasks/get", get(COMMON)],
    ["GetTask", get(V1)],
    ["tasks/cancel", cancel(COMMON)],
    ["CancelTask", cancel(V1)],
    ["tasks/resubscribe", follow(COMMON, false)],
    ["SubscribeToTask", follow(V1, true)],
    ["ListTasks", (params) => ({ result: listed(book, params, options) })],
    ["agent/getAuthenticatedExtendedCard", () => ({ result: extended(options) })],
    ["GetExtendedAgentCard", () => ({ result: extended(options) })],
    ...notify,
  ]);
}

function notifyMethods(book: TaskBook, notifications: Notifications): readonly (readonly [string, Method])[] {
  const common = (task: Task, { id, url, token }: Notification) => ({
    id: task.id,
    taskId: task.id,
    pushNotificationConfig: { id, url, ...(token === undefined ? {} : { token }) },
  });
  const v1 = (task: Task, { id, url, token }: Notification) => ({ taskId: task.id, id, url, ...(token === undefined ? {} : { token }) });
  const taskOf = (params: Params) => book.get(params["taskId"] ?? params["id"]);
  const find = (task: Task, id: unknown): Notification => {
    const found = notifications.list(task).find((one) => id === undefined || one.id === id);
    if (found === undefined) throw new RpcError("params", "This task tells no such address.");
    return found;
  };
  const set: Method = (params) => {
    const task = taskOf(params);
    return { result: common(task, notifications.add(task, params["pushNotificationConfig"], COMMON)) };
  };
  const get: Method = (params) => {
    const task = book.get(params["id"]);
    return { result: common(task, find(task, params["pushNotificationConfigId"])) };
  };
  const remove =
    (id: string, of: (params: Params) => Task): Method =>
    (params) => {
      notifications.remove(of(params), params[id]);
      return { result: null };
    };
  return [
    ["tasks/pushNotification/set", set],
    ["tasks/pushNotification/get", get],
    ["tasks/pushNotificationConfig/set", set],
    ["tasks/pushNotificationConfig/get", get],
    [
      "tasks/pushNotificationConfig/list",
      (params) => {
        const task = book.get(params["id"]);
        return { result: notifications.list(task).map((one) => common(task, one)) };
      },
    ],
    ["tasks/pushNotificationConfig/delete", remove("pushNotificationConfigId", (params) => book.get(params["id"]))],
    [
      "CreateTaskPushNotificationConfig",
      (params) => {
        const task = taskOf({ taskId: params["taskId"] });
        return { result: v1(task, notifications.add(task, params, V1)) };
      },
    ],
    [
      "GetTaskPushNotificationConfig",
      (params) => {
        const task = book.get(params["taskId"]);
        return { result: v1(task, find(task, params["id"])) };
      },
    ],
    [
      "ListTaskPushNotificationConfigs",
      (params) => {
        const task = book.get(params["taskId"]);
        return { result: { configs: notifications.list(task).map((one) => v1(task, one)) } };
      },
    ],
    ["DeleteTaskPushNotificationConfig", remove("id", (params) => book.get(params["taskId"]))],
  ];
}

const MOST_LISTED = 100;

/**
 * `ListTasks` of generation 1.0. A page ends with the id of its last task. Where no bearer is asked for, callers are strangers to each other: one that
 * could list the tasks would read those of the others. Each still has its own by the id, which is random.
 */
function listed(book: TaskBook, params: Params, { guarded }: MethodsOptions): object {
  if (!guarded) throw new RpcError("unsupported", "Tasks are not listed on a server that asks for no bearer; ask for each task by its id.");
  const { contextId, pageToken } = named({ contextId: params["contextId"], pageToken: params["pageToken"] });
  const state = params["status"] === undefined ? undefined : stateOfV1(params["status"]);
  if (params["status"] !== undefined && state === undefined) throw new RpcError("params", "'status' must be a state of tasks, such as TASK_STATE_WORKING.");
  const met = book.list().filter((task) => (contextId === undefined || task.contextId === contextId) && (state === undefined || task.state === state));
  const from = pageToken === undefined ? 0 : met.findIndex(({ id }) => id === pageToken) + 1;
  const size = Math.min(lengthOf(params["pageSize"]) || 50, MOST_LISTED);
  const page = met.slice(from, from + size);
  const next = from + size < met.length ? (page.at(-1)?.id ?? "") : "";
  return {
    tasks: page.map((task) => V1.task(task, lengthOf(params["historyLength"]) ?? 0)),
    nextPageToken: next,
    pageSize: page.length,
    totalSize: met.length,
  };
}

function extended({ extendedCard }: MethodsOptions): object {
  const card = extendedCard();
  if (card === undefined) throw new RpcError("noExtendedCard", "There is no other card than the public one.");
  return card;
}

const recordOf = (value: unknown): Params => (typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Params) : {});

const lengthOf = (value: unknown): number | undefined => (typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined);
