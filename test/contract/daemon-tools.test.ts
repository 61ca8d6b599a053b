import { expect, it } from "vitest";
import agentCall from "../../plugins/actions/agent-call/index.ts";
import agentActions from "../../plugins/features/agent-actions/index.ts";
import { providersOf, server, stage, stepsOf } from "./model-tiers.harness.ts";

const two = (tier: string, agent: object = {}) => {
  const common = { workspace: "./w", tier, provider: "mine", model: "fake-1" };
  return stage(tier, {
    inline: [agentCall, agentActions],
    config: { providers: providersOf("anthropic"), agents: { a: { name: "A", ...common, ...agent }, b: { name: "B", ...common, maxConcurrent: 2 } } },
  });
};
const ask = (agent: string, message: string) => `CALL:agent_call:${JSON.stringify({ agentId: agent, message })}`;

it.each(["sdk", "orchestrator"])("an agent on the tier %s asks another one by default, and a loop of two ends with words", async (tier) => {
  const { ask: say, kernel } = await two(tier);
  const { reply, trace } = await say(ask("b", "hello"));
  expect(JSON.parse(reply.replace("RESULT: ", ""))).toMatchObject({ agentId: "b", reply: "ECHO: hello" });
  expect(server.requests[0]?.conversation?.tools).toEqual(["agent_call"]);
  // The call stands in the trace once, by the action's name, with the whole of it.
  expect(stepsOf(trace)).toMatchObject([{ name: "agent.call", envelope: { status: "ok" } }]);
  expect(trace.steps.filter(({ kind }) => kind === "action")).toEqual([]);
  const loop = await say(ask("b", ask("a", "hello")));
  expect(loop.reply).toContain("Agent a is not asked: it waits for this answer itself (a -> b -> a)");
  expect(kernel.tasks.running()).toEqual([]);
});

it.each(["sdk", "orchestrator"])("on the tier %s an agent has no tool that its actions do not name", async (tier) => {
  const none = await two(tier, { actions: [] });
  await none.ask("hello");
  expect(server.requests.at(-1)?.conversation?.tools).toEqual([]);
  const { ok } = await none.ask(ask("b", "hello"));
  expect(ok).toBe(true);
  expect(await none.kernel.traces.list({ agent: "b" })).toEqual([]);
  const some = await two(tier, { actions: ["math.*"] });
  await some.ask("hello");
  expect(server.requests.at(-1)?.conversation?.tools).toEqual(["math_add"]);
});
