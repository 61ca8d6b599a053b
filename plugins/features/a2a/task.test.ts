import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { readMessage } from "./content.ts";
import plugin from "./index.ts";
import { parseCall } from "./rpc.ts";
import { runTask } from "./runner.ts";
import { Task } from "./task.ts";
import { TaskBook } from "./task-book.ts";

const bytes = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

describe("a task", () => {
  it("numbers its frames, hands out those behind one, and says when they are no longer kept", () => {
    const task = new Task({});
    for (let n = 0; n < 12_000; n += 1) task.tell({ kind: "text", text: "x", first: n === 0, last: false });
    expect(task.after(11_990)?.map(({ seq }) => seq)).toEqual([11_991, 11_992, 11_993, 11_994, 11_995, 11_996, 11_997, 11_998, 11_999, 12_000]);
    expect(task.after(12_000)).toEqual([]);
    expect(task.after(10)).toBeUndefined();
    expect(task.text).toHaveLength(12_000);
  });

  it("tells nothing after its end", () => {
    const task = new Task({});
    task.tell({ kind: "status", state: "canceled" });
    task.tell({ kind: "status", state: "completed" });
    expect([task.state, task.seq]).toEqual(["canceled", 1]);
  });

  it("an answer that is another one than what was told stands in its place", async () => {
    const task = new Task({});
    const said = [
      { event: "accepted", data: { taskId: "t" } },
      { event: "text", data: { text: "a first try" } },
      { event: "step", data: { step: { name: "read", phase: "start", input: "a secret path" } } },
      { event: "done", data: { ok: true, reply: "the answer" } },
    ];
    const stream = async (_path: string, hear: (event: (typeof said)[number]) => unknown) => {
      for (const event of said) hear(event);
    };
    await runTask(task, "?", { agent: "a", cli: { stream, request: async () => ({}) } as never });
    expect([task.text, task.state]).toEqual(["the answer", "completed"]);
    expect(JSON.stringify(task.after(0))).not.toContain("secret");
    expect(
      task
        .after(0)
        ?.filter((frame) => frame.kind === "text")
        .map(({ first }) => first),
    ).toEqual([true, true, false]);
  });
});

it("of a thousand tasks the oldest that is over makes room", () => {
  const book = new TaskBook();
  const tasks = Array.from({ length: 1_000 }, () => book.add({}));
  expect(() => book.add({})).toThrow(/1000 tasks run here/);
  tasks[7]?.tell({ kind: "status", state: "completed" });
  book.add({});
  expect(book.find(tasks[7]?.id as string)).toBeUndefined();
  expect(book.find(tasks[0]?.id as string)).toBe(tasks[0]);
});

it("what its tasks hold is bounded, too: the oldest that are over make room for the next", () => {
  const book = new TaskBook();
  const said = (task: Task, isOver: boolean) => {
    task.history.push({ role: "user", messageId: "m", text: "x".repeat(1_000_000) });
    task.tell({ kind: "text", text: "y".repeat(1_000_000), first: true, last: true });
    if (isOver) task.tell({ kind: "status", state: "completed" });
    return task;
  };
  const over = Array.from({ length: 20 }, () => said(book.add({}), true));
  expect(over.map(({ id }) => book.find(id) !== undefined)).toEqual([...Array(9).fill(false), ...Array(11).fill(true)]);
  const running = Array.from({ length: 11 }, () => said(book.add({}), false));
  expect(() => book.add({})).toThrow(/11 tasks run here/);
  expect(book.list()).toHaveLength(running.length);
});

it.each([
  [{ parts: "x" }],
  [{ parts: [] }],
  [{ parts: [null] }],
  [{ parts: [{}] }],
  [{ parts: [{ text: "  " }] }],
  [{ parts: [{ text: "x".repeat(200_001) }] }],
  [undefined],
])("a message that has no words is refused: %j", (message) => {
  expect(() => readMessage(message)).toThrow(expect.objectContaining({ code: -32602 }));
});

it("data is as long for the agent as the caller sent it, however deep", () => {
  const data = JSON.parse(`${"[".repeat(60)}${"1,".repeat(50_000)}1${"]".repeat(60)}`) as unknown;
  expect(readMessage({ parts: [{ data }] }).text).toBe(`\`\`\`json\n${JSON.stringify(data)}\n\`\`\``);
});

it("a call does not change what objects inherit", () => {
  const call = parseCall(new TextEncoder().encode('{"jsonrpc":"2.0","id":1,"method":"x","params":{"__proto__":{"polluted":true}}}'));
  expect([(call.params as { polluted?: boolean }).polluted, ({} as { polluted?: boolean }).polluted]).toEqual([undefined, undefined]);
  expect(parseCall(bytes({ jsonrpc: "2.0", method: "x" }))).not.toHaveProperty("id");
});

it("the daemon tells an address by its guarded fetch, without following a redirect", async () => {
  const asked: unknown[] = [];
  const fetch = async (url: string, init: object) => {
    asked.push({ url, ...init });
    return { status: 204 };
  };
  const context = createFakeContext(plugin, { fetch: fetch as never });
  plugin.setup(context);
  const answer = await context.request("POST", "/a2a/notify", { body: { url: "https://example.org/hook", token: "t", payload: { id: "1" } } });
  expect(answer).toMatchObject({ status: 200, body: { status: 204 } });
  expect(asked).toMatchObject([{ url: "https://example.org/hook", maxRedirects: 0, headers: { "x-a2a-notification-token": "t" } }]);
});
