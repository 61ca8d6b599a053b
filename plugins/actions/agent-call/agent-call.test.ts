import type { ActionCall, TaskResult } from "@svc/sdk";
import { actionContract, createFakeContext, createFakeTasks } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import plugin from "./index.ts";

function setUp(result: Partial<TaskResult> = { reply: "42", model: "small" }) {
  const ctx = createFakeContext(plugin, { agents: [{ id: "oracle" }], tasks: createFakeTasks(() => result) });
  plugin.setup(ctx);
  const [action] = ctx.registered.actions;
  if (!action) throw new Error("no action was provided");
  const ask = (input: Record<string, unknown>, call: Partial<ActionCall> = {}) =>
    action.run({ agentId: "oracle", message: "why?", ...input }, { signal: new AbortController().signal, door: "test", ...call });
  return { action, ask, ctx };
}

actionContract({ describe, it }, () => ({
  action: setUp().action,
  works: [{ name: "a question", input: { agentId: "oracle", message: "why?" } }],
  refused: [
    { agentId: "", message: "x" },
    { agentId: "oracle", message: "" },
    { agentId: "oracle", message: "x", freshSession: "yes" },
  ],
}));

it("SES-06 starts a fresh session unless told otherwise, in a conversation of its own", async () => {
  const { ask, ctx } = setUp();
  await ask({});
  await ask({});
  await ask({ freshSession: false });
  await ask({ freshSession: false });
  expect(ctx.tasks.accepted.map(({ options }) => options?.freshSession)).toEqual([true, true, false, false]);
  const [first, second, third, fourth] = ctx.tasks.accepted.map(({ chat }) => chat);
  expect(first).not.toBe(second);
  expect(third).toBe(fourth);
});

it("tells who asks and who worked on it before, each agent once", async () => {
  const { ask, ctx } = setUp();
  await ask({}, { door: "agent", agent: "b", chain: ["a", "b", "c"] });
  await ask({}, { door: "http" });
  expect(ctx.tasks.accepted[0]).toMatchObject({ entry: "agent-call", agent: "oracle", text: "why?", options: { askedBy: "b", chain: ["a", "c", "b"] } });
  expect(ctx.tasks.accepted[1]?.options).toEqual({ freshSession: true });
});

it("answers with the reply and the task to look at", async () => {
  expect(await setUp().ask({})).toEqual({ agentId: "oracle", taskId: "task_1", reply: "42", durationMs: 0, model: "small" });
});

it("fails when the run failed, naming its trace", async () => {
  const { ask } = setUp({ ok: false, status: "error", error: "no key", errorKind: "auth" });
  await expect(ask({})).rejects.toMatchObject({ code: "SVC_ACTION_AGENT_FAILED", message: expect.stringContaining("no key. See svc trace show task_1") });
});

it("refuses an agent that is not there before anything is accepted", async () => {
  const { ask, ctx } = setUp();
  await expect(ask({ agentId: "nobody" })).rejects.toMatchObject({ code: "SVC_AGENT_UNKNOWN", status: 404 });
  expect(ctx.tasks.accepted).toEqual([]);
});
