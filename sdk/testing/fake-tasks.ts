import { whyNoChoices } from "../choices.ts";
import { svcError } from "../errors.ts";
import type { Delivery, Message, TaskResult } from "../messages.ts";
import type { Accepted, RunningTask, TaskEvent, Tasks, WithheldDelivery } from "../tasks.ts";

/** Fake tasks that record their calls. */
export interface FakeTasks extends Tasks {
  /** Messages accepted or run, without the duplicates. */
  readonly accepted: readonly Message[];
  readonly delivered: readonly Omit<Delivery, "id">[];
  /** Deliveries with choices whose question was closed. */
  readonly closed: readonly { readonly id: string; readonly words?: string }[];
  readonly cancelled: readonly { readonly id: string; readonly reason?: string }[];
  /** Withhold a delivery as a `deliver` tap would: `withheld` lists it until `release` or `refuse`. */
  withhold(delivery: WithheldDelivery): void;
  /** Decisions about withheld deliveries: a refused one with its reason. */
  readonly decided: readonly { readonly id: string; readonly refused?: string }[];
  /** Recorded calls of `followup` for known ids. */
  readonly followed: readonly { readonly id: string; readonly text: string; readonly replace: boolean; readonly sender?: string }[];
}

/**
 * Task ids count up from `task_1`. `answer` makes the result of `run` (default: an empty reply of status `ok`); an error it throws, `run` throws. A
 * task runs from `run` until its answer; it is never queued. `cancel`, `followup` and `result` know the issued ids; `answer` makes the result of an
 * accepted task, too.
 */
export function createFakeTasks(answer: (message: Message) => Partial<TaskResult> | Promise<Partial<TaskResult>> = () => ({})): FakeTasks {
  const accepted: Message[] = [];
  const delivered: Omit<Delivery, "id">[] = [];
  const open = new Set<string>();
  const handed = new Map<string, string>();
  const closed: { id: string; words?: string }[] = [];
  const cancelled: { id: string; reason?: string }[] = [];
  const followed: { id: string; text: string; replace: boolean; sender?: string }[] = [];
  const withheld = new Map<string, WithheldDelivery>();
  const decided: { id: string; refused?: string }[] = [];
  const decide = (id: string, how: { refused?: string }): boolean => withheld.delete(id) && decided.push({ id, ...how }) > 0;
  const running = new Map<string, RunningTask>();
  const keys = new Map<string, { readonly taskId: string; readonly digest: string | undefined }>();
  const results = new Map<string, Promise<TaskResult>>();
  const resultOf = async (taskId: string, message: Message): Promise<TaskResult> => ({
    ok: true,
    taskId,
    agent: message.agent ?? "main",
    reply: "",
    status: "ok",
    durationMs: 0,
    ...(await answer(message)),
  });
  const take = (message: Message): Accepted => {
    const seen = message.dedupKey === undefined ? undefined : keys.get(message.dedupKey);
    const { dedupDigest: digest } = message;
    if (seen && (digest ?? seen.digest) !== (seen.digest ?? digest))
      throw svcError("SVC_TASK_KEY_REUSED", `Another request was sent with this key, as task ${seen.taskId}.`, { status: 422 });
    if (seen) return { taskId: seen.taskId, rootId: `root_of_${seen.taskId}`, duplicate: true };
    // Messages are stored as JSON before they are acknowledged; one that is not JSON must show here.
    accepted.push(JSON.parse(JSON.stringify(message)));
    const taskId = `task_${accepted.length}`;
    if (message.dedupKey !== undefined) keys.set(message.dedupKey, { taskId, digest });
    return { taskId, rootId: `root_of_${taskId}`, duplicate: false };
  };
  return {
    accepted,
    delivered,
    closed,
    cancelled,
    followed,
    running: () => [...running.values()],
    queued: () => [],
    async followup(id, message) {
      const first = accepted[Number(/^task_(\d+)$/.exec(id)?.[1]) - 1];
      if (first === undefined) return undefined;
      followed.push({ id, ...message });
      const { dedupKey: _, dedupDigest: __, ...rest } = first;
      return take({ ...rest, entry: "followup", text: message.text, ...(message.sender === undefined ? {} : { sender: { id: message.sender } }) });
    },
    accept: async (message) => take(message),
    async run(message, listen?: (event: TaskEvent) => void) {
      const { taskId, rootId } = take(message);
      listen?.({ type: "accepted", taskId, rootId });
      const agent = message.agent ?? "main";
      listen?.({ type: "started", taskId, agent });
      const { channel, chat } = message;
      running.set(taskId, { id: taskId, agent, step: "agent", startedAt: Date.now(), channel, chat, conversation: `${agent}:${channel}:-:${chat}` });
      try {
        const result = resultOf(taskId, message);
        results.set(taskId, result);
        return await result;
      } finally {
        running.delete(taskId);
      }
    },
    async result(taskId) {
      const message = accepted[Number(/^task_(\d+)$/.exec(taskId)?.[1]) - 1];
      if (message === undefined) throw svcError("SVC_TASK_UNKNOWN", `No task '${taskId}' is running or waiting, and no record of it is kept.`);
      const result = results.get(taskId) ?? resultOf(taskId, message);
      results.set(taskId, result);
      return result;
    },
    async deliver({ key, ...delivery }) {
      const before = key === undefined ? undefined : handed.get(key);
      if (before !== undefined) {
        const sent = Promise.reject(svcError("SVC_DELIVERY_KNOWN", `This delivery was handed over before, as ${before}.`));
        sent.catch(() => {});
        return { id: before, sent };
      }
      const reason = delivery.choices === undefined ? undefined : whyNoChoices(delivery.choices);
      if (reason !== undefined) throw svcError("SVC_DELIVERY_CHOICES", `The choices of a delivery cannot be offered: ${reason}.`, { status: 400 });
      delivered.push(delivery);
      const id = `delivery_${delivered.length}`;
      if (key !== undefined) handed.set(key, id);
      if (delivery.choices !== undefined) open.add(id);
      return { id, sent: Promise.resolve({ platformId: `platform_${delivered.length}` }) };
    },
    async closeChoices(id, words) {
      if (!open.delete(id)) return false;
      closed.push(words === undefined ? { id } : { id, words });
      return true;
    },
    decided,
    withhold: (one) => void withheld.set(one.delivery.id, one),
    async withheld({ after = "", limit = 500 } = {}) {
      const ids = [...withheld.keys()].sort().filter((id) => id > after);
      return ids.slice(0, limit).map((id) => withheld.get(id) as WithheldDelivery);
    },
    release: async (id) => decide(id, {}),
    refuse: async (id, reason) => decide(id, { refused: reason }),
    async cancel(id, reason) {
      cancelled.push(reason === undefined ? { id } : { id, reason });
      const number = /^task_(\d+)$/.exec(id);
      return number !== null && Number(number[1]) <= accepted.length;
    },
  };
}
