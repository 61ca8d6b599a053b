import type { Turn, WorkflowHead, WorkflowRun, WorkflowStart } from "@svc/sdk";
import { svcError } from "@svc/sdk";
import { expect, it } from "vitest";
import { type MatchingSettings, matchTurn } from "./matching.ts";

const HEAD: WorkflowHead = { id: "buy", hash: "h", broken: false, phrases: ["buy a new laptop"], inputSchema: { message: { type: "string", required: true } } };
const AUTO: MatchingSettings = { enabled: true, mode: "auto", autoRunThreshold: 0.85, suggestThreshold: 0.65 };

/** A turn about one message, and what was started and logged. */
function world(
  settings: Partial<MatchingSettings> = {},
  { head = HEAD, end = {}, refuse, waits = false }: { head?: WorkflowHead; end?: Partial<WorkflowRun>; refuse?: string; waits?: boolean } = {},
) {
  const started: [string, WorkflowStart][] = [];
  const logged: string[] = [];
  const say = (level: string) => (facts: unknown, text?: string) => void logged.push(`${level} ${text ?? JSON.stringify(facts)}`);
  const log = Object.fromEntries(["debug", "info", "warn", "error"].map((level) => [level, say(level)])) as never;
  const workflows = {
    list: async () => [head],
    async start(id: string, how: WorkflowStart) {
      started.push([id, how]);
      if (refuse !== undefined) throw svcError("SVC_WORKFLOW_INPUT", refuse, { status: 400 });
      return { runId: "run_1", workflowId: id, status: "running" as const, hash: "h" };
    },
    run: async () => ({ id: "run_1", status: "running", waits: [{ node: "ask", iteration: "1", kind: "task", since: "" }] }) as unknown as WorkflowRun,
    async wait(_id: string, signal?: AbortSignal) {
      if (waits) await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
      return { id: "run_1", status: "completed", waits: [], ...end } as unknown as WorkflowRun;
    },
  };
  const take = async (text: string, more: object = {}) => {
    const message = { id: "task_7", rootId: "r", at: 0, attempts: 0, entry: "channel", channel: "chat", chat: "c", text, ...more };
    return matchTurn({ id: "task_7", messages: [message] } as unknown as Turn, { workflows, settings: () => ({ ...AUTO, ...settings }), log });
  };
  const run = async (text: string, more: object = {}) => {
    const stream = await take(text, more);
    if (stream === undefined) return "agent";
    const events = [];
    for await (const event of stream) events.push(event);
    return events;
  };
  return { run, take, started, logged };
}

it("WF-11 auto runs the workflow instead of the agent, under the message's own key, and answers with its output", async () => {
  const { run, started } = world({}, { end: { output: { reply: "ordered" } } });
  const events = await run("Buy a new laptop");
  expect(started).toEqual([["buy", { input: { message: "Buy a new laptop" }, startKey: "chat:task_7", entry: { kind: "match", ref: "task_7" } }]]);
  expect(events).toMatchObject([{ type: "step" }, { type: "parked" }, { type: "step" }, { type: "done", text: "ordered" }]);
});

it("WF-11 is off by default, and suggest only logs, whatever the score", async () => {
  const off = world({ enabled: false });
  expect([await off.run("buy a new laptop"), off.started, off.logged]).toEqual(["agent", [], []]);
  const suggest = world({ mode: "suggest" });
  expect([await suggest.run("buy a new laptop"), suggest.started]).toEqual(["agent", []]);
  expect(suggest.logged).toEqual(["info a message is like the workflow buy; its agent answers it"]);
});

it("WF-11 from 0.65 up to 0.85 auto only logs; below it says nothing", async () => {
  const between = world();
  expect([await between.run("buy a laptop"), between.started.length, between.logged.length]).toEqual(["agent", 0, 1]);
  const below = world();
  expect([await below.run("buy laptop please now"), below.started.length, below.logged.length]).toEqual(["agent", 0, 0]);
  const edge = world({ autoRunThreshold: 0.75 });
  expect(await edge.run("buy a laptop")).not.toBe("agent");
});

it("WF-11 inputs that the message does not say log a line, and the agent answers", async () => {
  const { run, started, logged } = world({}, { head: { ...HEAD, inputSchema: { price: { type: "number", required: true } } } });
  expect([await run("buy a new laptop"), started]).toEqual(["agent", []]);
  expect(logged).toEqual(["warn a message means the workflow buy but does not say price; its agent answers it"]);
});

it("WF-11 a start that is refused gives the turn back to the agent", async () => {
  const { run, logged } = world({}, { refuse: "message is too long" });
  expect(await run("buy a new laptop")).toMatchObject([{ type: "step" }, { type: "pass", reason: expect.stringContaining("message is too long") }]);
  expect(logged.at(-1)).toContain("the agent answers");
});

it("WF-11 nothing is started before the kernel has let the turn be taken over: it ends a stream that may not", async () => {
  const { take, started } = world();
  const stream = (await take("buy a new laptop")) as AsyncGenerator;
  expect(await stream.next()).toMatchObject({ value: { type: "step" } });
  await stream.return(undefined);
  expect(started).toEqual([]);
});

it("a run that waits for a person does not keep the sender waiting", async () => {
  expect((await world({}, { waits: true }).run("buy a new laptop")).at(-1)).toEqual({
    type: "done",
    text: "The workflow buy was started and goes on as run_1.",
  });
});

it("no step of a workflow, no job and no collected messages start one", async () => {
  const { run, started } = world();
  for (const more of [{ entry: "workflow" }, { entry: "cron" }, { runId: "run_9" }]) expect(await run("buy a new laptop", more)).toBe("agent");
  expect(started).toEqual([]);
});

it.each([
  [{ status: "failed", error: { code: "X", message: "no stock" } }, "The workflow buy failed (run_1): no stock"],
  [{ status: "canceled" }, "The workflow buy was canceled (run_1)."],
  [{ output: undefined }, "The workflow buy is done (run_1)."],
  [{ output: "text" }, "text"],
  [{ output: { a: 1 } }, '{\n  "a": 1\n}'],
] as const)("tells the sender how it ended: %j", async (end, text) => {
  expect(await world({}, { end: end as Partial<WorkflowRun> }).run("buy a new laptop")).toMatchObject([{}, {}, {}, { type: "done", text }]);
});
