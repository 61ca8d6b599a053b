import { type Message, svcError } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it, vi } from "vitest";
import { Answers } from "./answers.ts";

const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log } as never;
const to = { agent: "ada", channel: "chat", chat: "boss" } as never;

/** The kernel's tasks, which take what is asked or refuse it. */
function tasksOf(refusal?: Error) {
  const taken: Message[] = [];
  const accept = async (message: Message) => {
    if (refusal !== undefined) throw refusal;
    taken.push(message);
    return { taskId: "task_1" };
  };
  return { taken, tasks: { accept, result: async () => ({ ok: true, reply: "42" }) } as never };
}

it.each([
  ["a daemon that ends", svcError("SVC_DAEMON_DRAINING", "The daemon is going down.", { status: 503 })],
  ["a message that is never taken", svcError("SVC_TASK_INVALID", "No.", { status: 400 })],
])("MESH-07 a task that was refused is not given to the peer after a restart: %s", async (_who, refusal) => {
  const store = createMemoryStore();
  const { signal } = new AbortController();
  const refused = tasksOf(refusal);
  await expect(new Answers({ log, signal, store, tasks: refused.tasks }).send("n2", { agent: "far", message: "pay" }, to)).rejects.toBe(refusal);
  const later = tasksOf();
  await new Answers({ log, signal, store, tasks: later.tasks }).resume();
  expect(later.taken).toEqual([]);
  expect(await store.collection("answers").count()).toBe(0);
});

it.each(["accept", "result"])("MESH-07 a database that does not answer for a moment at %s costs no conversation its answer", async (at) => {
  const store = createMemoryStore();
  const { signal } = new AbortController();
  const { taken, tasks } = tasksOf();
  const { accept, result } = tasks as { accept(message: Message): Promise<unknown>; result(): Promise<unknown> };
  let away = true;
  const unless = <T>(fails: boolean, work: () => Promise<T>): Promise<T> => {
    if (!fails || !away) return work();
    away = false;
    return Promise.reject(svcError("SVC_STORE_UNREACHABLE", "The database does not answer."));
  };
  const faulty = {
    accept: (message: Message) => unless(at === "accept" && message.entry === "followup", () => accept(message)),
    result: () => unless(at === "result", result),
  };
  await new Answers({ log, signal, store, tasks: faulty as never }).send("n2", { agent: "far", message: "pay" }, to);
  await vi.waitFor(async () => expect(await store.collection("answers").count()).toBe(0), { timeout: 5_000 });
  expect([away, taken.filter(({ entry }) => entry === "followup").length]).toEqual([false, 1]);
});
