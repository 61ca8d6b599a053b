import type { Frame, Spoken, Task, TaskState } from "./task.ts";

/** Format of tasks and frames in one generation of the protocol. */
export interface Dialect {
  /** The answer of the methods that give a task. */
  task(task: Task, historyLength?: number): object;
  /** The answer of the method that sends a message. */
  sent(task: Task, historyLength?: number): object;
  /** One result of a stream: the task as it is, ... */
  snapshot(task: Task): object;
  /** ... or what has happened to it. */
  frame(task: Task, frame: Frame): object;
}

const messageOf = (task: Task, words: string, at: string) => ({
  role: "agent",
  messageId: `${task.id}:${at}`,
  kind: "message",
  taskId: task.id,
  contextId: task.contextId,
  parts: [partOf(words)],
});
const partOf = (text: string) => ({ kind: "text", type: "text", text });

const statusOf = (task: Task, state: TaskState, words: string | undefined, at: string) => ({
  state,
  timestamp: at,
  ...(words === undefined ? {} : { message: messageOf(task, words, at) }),
});

const artifactOf = ({ artifactId }: Task, text: string) => ({ artifactId, index: 0, name: "answer", parts: [partOf(text)] });

/** The newest `length` of it; all of it where nothing is asked for. */
const recent = (history: readonly Spoken[], length: number | undefined) => (length === undefined ? history : length <= 0 ? [] : history.slice(-length));

const FINAL: readonly TaskState[] = ["completed", "failed", "canceled"];

/** Generations 0.1 to 0.3 in one: each reads its own members (`id` and `taskId`, `type` and `kind`) and passes over the others. */
export const COMMON: Dialect = {
  task(task, historyLength) {
    const { id, contextId, history, text, state, words, at } = task;
    return {
      kind: "task",
      id,
      contextId,
      sessionId: contextId,
      status: statusOf(task, state, words, at),
      artifacts: text === "" ? [] : [artifactOf(task, text)],
      history: recent(history, historyLength).map(({ role, messageId, text: said }) => ({
        kind: "message",
        role,
        messageId,
        taskId: id,
        contextId,
        parts: [partOf(said)],
      })),
    };
  },
  sent: (task, historyLength) => COMMON.task(task, historyLength),
  snapshot: (task) => COMMON.task(task),
  frame(task, frame) {
    const ids = { id: task.id, taskId: task.id, contextId: task.contextId };
    if (frame.kind === "status")
      return { ...ids, kind: "status-update", status: statusOf(task, frame.state, frame.words, frame.at), final: FINAL.includes(frame.state) };
    const { first, last, text } = frame;
    const flags = { append: !first, lastChunk: last };
    return { ...ids, kind: "artifact-update", artifact: { ...artifactOf(task, text), ...flags }, ...flags };
  },
};

const STATES: Readonly<Record<TaskState, string>> = {
  submitted: "TASK_STATE_SUBMITTED",
  working: "TASK_STATE_WORKING",
  completed: "TASK_STATE_COMPLETED",
  failed: "TASK_STATE_FAILED",
  canceled: "TASK_STATE_CANCELED",
};

const ROLES = { user: "ROLE_USER", agent: "ROLE_AGENT" } as const;

/** Generation 1.0: names of states and roles in capitals, parts and results told apart by the member they have. */
export const V1: Dialect = {
  task(task, historyLength) {
    const { id, contextId, history, text, state, words, at } = task;
    return {
      id,
      contextId,
      status: v1Status(task, state, words, at),
      ...(text === "" ? {} : { artifacts: [v1Artifact(task, text)] }),
      history: recent(history, historyLength).map(({ role, messageId, text: said }) => ({
        role: ROLES[role],
        messageId,
        taskId: id,
        contextId,
        parts: [{ text: said }],
      })),
    };
  },
  sent: (task, historyLength) => ({ task: V1.task(task, historyLength) }),
  snapshot: (task) => ({ task: V1.task(task) }),
  frame(task, frame) {
    const ids = { taskId: task.id, contextId: task.contextId };
    if (frame.kind === "status") return { statusUpdate: { ...ids, status: v1Status(task, frame.state, frame.words, frame.at) } };
    return { artifactUpdate: { ...ids, artifact: v1Artifact(task, frame.text), append: !frame.first, lastChunk: frame.last } };
  },
};

const v1Status = (task: Task, state: TaskState, words: string | undefined, at: string) => ({
  state: STATES[state],
  timestamp: at,
  ...(words === undefined
    ? {}
    : { message: { role: ROLES.agent, messageId: `${task.id}:${at}`, taskId: task.id, contextId: task.contextId, parts: [{ text: words }] } }),
});

const v1Artifact = ({ artifactId }: Task, text: string) => ({ artifactId, name: "answer", parts: [{ text }] });

/** The state that a caller of generation 1.0 names. */
export const stateOfV1 = (name: unknown): TaskState | undefined => (Object.keys(STATES) as TaskState[]).find((state) => STATES[state] === name);
