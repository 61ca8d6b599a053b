import { readFileSync } from "node:fs";
import { join } from "node:path";
import { definePlugin, type Plugin, type ToolCall } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import { runIsolated } from "../faults/isolation.harness.ts";
import { baseOf, post, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const PATIENCE = { timeout: 20_000, interval: 20 };

/** Two agents, and a tool of agent `a` that answers who called it. */
async function withTool(abilities: object = {}, options: RunOptions = {}) {
  const tier = scriptedTier("scripted", abilities);
  const tool = definePlugin({
    kind: "feature",
    name: "who",
    version: "0.1.0",
    svc: "^0.1.0",
    capabilities: [],
    setup(ctx) {
      const describe = async (_input: unknown, { signal: _, ...call }: ToolCall) => JSON.stringify(call);
      ctx.provide.tool({ name: "who", description: "d", input: { type: "object" }, run: describe });
      ctx.provide.tool({ name: "mine", description: "d", input: { type: "object" }, for: (agent) => agent === "a", run: describe });
      ctx.provide.tool({
        name: "unsure",
        description: "d",
        input: { type: "object" },
        for: () => {
          throw new Error("no idea");
        },
        run: describe,
      });
      const named = (name: string) => ({ name, description: "d", input: { type: "object" as const }, run: describe });
      const unusable = [{ ...named("odd"), input: undefined }, { ...named("untyped"), input: {} }, null, named(7 as never)] as never[];
      ctx.provide.toolset({ name: "some", tools: (agent) => (agent === "a" ? [named("who"), ...unusable, named("extra")] : []) });
      ctx.provide.toolset({ name: "broken", tools: () => Promise.reject(new Error("no idea")) });
    },
  });
  const agents = { a: { name: "A", workspace: "./w", tier: "scripted" }, b: { name: "B", workspace: "./v", tier: "scripted" } };
  const running = await runKernel({ tier, listen: true, inline: [tool as Plugin<never>], config: { agents }, ...options });
  const base = baseOf(running.kernel);
  return {
    ...running,
    base,
    call: async (headers: Record<string, string>, agent = "a", name = "who") => {
      const { status, body } = await post(base, `/agents/${agent}/tools/${name}`, {}, headers);
      return status === 200 ? (JSON.parse(String(body.text)) as Omit<ToolCall, "signal">) : { status, code: body.code };
    },
    names: async (agent: string) =>
      ((await (await fetch(`${base}/agents/${agent}/tools`)).json()) as { tools: { name: string }[] }).tools
        .map(({ name }) => name)
        .filter((name) => !name.startsWith("svc_")),
  };
}

it("a call names its task only while that task runs for this agent, with the chain of its message", async () => {
  const { kernel, message, call, tier } = await withTool();
  const accepted = await kernel.tasks.accept(message("hold it", { options: { chain: ["z"] } }));
  await vi.waitFor(() => expect(kernel.tasks.running().map(({ step }) => step)).toEqual(["agent"]), PATIENCE);
  const task = accepted.taskId;
  expect(await call({ "x-svc-task": task })).toEqual({ agent: "a", taskId: task, rootId: accepted.rootId, chain: ["z"] });
  // In another's name it is no part of that task, and does not leave its chain.
  expect(await call({ "x-svc-task": task }, "b")).toEqual({ agent: "b", rootId: accepted.rootId, chain: ["z", "a"] });
  expect(await call({ "x-svc-task": "task_none" })).toEqual({ agent: "a" });
  tier.release();
  await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
  expect(await call({ "x-svc-task": task })).toEqual({ agent: "a" });
});

it("a call that names no task may do what the most restricted run of its agent may do", async () => {
  const { kernel, message, call, tier } = await withTool({ enforcesAutonomy: true });
  const topic = { project: "acme/shop", subject: "issue 7" };
  const report = await kernel.tasks.accept(message("hold it", { options: { autonomy: "report", topic } }));
  await vi.waitFor(() => expect(kernel.tasks.running().map(({ step }) => step)).toEqual(["agent"]), PATIENCE);
  expect(await call({})).toEqual({ agent: "a", autonomy: "report" });
  expect(await call({ "x-svc-task": report.taskId })).toEqual({ agent: "a", taskId: report.taskId, rootId: report.rootId, autonomy: "report", topic });
  expect(await call({}, "b")).toEqual({ agent: "b" });
  tier.release();
  await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
  expect(await call({})).toEqual({ agent: "a" });
});

it("a process that is kept between the turns of a conversation calls for the one that runs there now, and for no other conversation's", async () => {
  const { kernel, message, call } = await withTool();
  const first = await kernel.tasks.run(message("one"));
  const second = await kernel.tasks.accept(message("hold two"));
  await vi.waitFor(() => expect(kernel.tasks.running().map(({ id }) => id)).toEqual([second.taskId]), PATIENCE);
  expect(await call({ "x-svc-task": first.taskId })).toEqual({ agent: "a", taskId: second.taskId, rootId: second.rootId });
  const elsewhere = await kernel.tasks.cancel(second.taskId);
  expect(elsewhere).toBe(true);
  await vi.waitFor(() => expect(kernel.tasks.running()).toEqual([]), PATIENCE);
  const third = await kernel.tasks.accept(message("hold three", { chat: "c2" }));
  await vi.waitFor(() => expect(kernel.tasks.running().map(({ id }) => id)).toEqual([third.taskId]), PATIENCE);
  expect(await call({ "x-svc-task": first.taskId })).toEqual({ agent: "a" });
});

it("session and process are passed on as claims; what has not their shape is left out", async () => {
  const { call } = await withTool();
  expect(await call({ "x-svc-session": "a2e2-1", "x-svc-pid": "42" })).toEqual({ agent: "a", session: "a2e2-1", pid: 42 });
  expect(await call({ "x-svc-session": "a b", "x-svc-pid": "-1" })).toEqual({ agent: "a" });
  expect(await call({ "x-svc-session": "x".repeat(201), "x-svc-pid": "1.5" })).toEqual({ agent: "a" });
});

it("a tool for some agents is listed for and run by these alone; one that cannot say is withheld", async () => {
  const { names, call } = await withTool();
  expect([await names("a"), await names("b")]).toEqual([["who", "mine", "extra"], ["who"]]);
  expect(await call({}, "a", "mine")).toEqual({ agent: "a" });
  expect(await call({}, "b", "mine")).toEqual({ status: 404, code: "SVC_TOOL_UNKNOWN" });
  expect(await call({}, "a", "unsure")).toEqual({ status: 404, code: "SVC_TOOL_UNKNOWN" });
  expect(await call({}, "a", "extra")).toEqual({ agent: "a" });
  expect(await call({}, "b", "extra")).toEqual({ status: 404, code: "SVC_TOOL_UNKNOWN" });
});

it("what a set offers that is no tool is left out, and counts against its plugin, as does what throws", async () => {
  const destination = join(await temporaryFolder(), "log");
  const { kernel, names } = await withTool({}, { log: { destination } });
  expect(await names("a")).toEqual(["who", "mine", "extra"]);
  expect(kernel.health().plugins.find(({ id }) => id === "feature-who")).toMatchObject({ failures: 3 });
  const logged = () => readFileSync(destination, "utf8").split("\n");
  for (const words of ["tool unsure for", "no idea", "tools of broken", "tools of some", "a tool 'odd'", "4 of the 6 tools of 'some' are left out"])
    await vi.waitFor(() => expect(logged().filter((line) => line.includes("feature-who") && line.includes(words))).not.toEqual([]), PATIENCE);
});

it("a tool of an isolated plugin knows the same of its caller and of its agents", async () => {
  const { kernel } = await runIsolated([
    {
      name: "comes",
      setup: `const about = async (input, { signal, ...call }) => JSON.stringify({ ...call, aborted: signal.aborted });
        ctx.provide.tool({ name: "who", description: "d", input: { type: "object" }, for: (agent) => agent === "a", run: about });`,
    },
  ]);
  const signal = new AbortController().signal;
  expect(JSON.parse(await kernel.runTool("who", {}, { agent: "a", session: "s", pid: 7, taskId: "task_none", signal }))).toEqual({
    agent: "a",
    session: "s",
    pid: 7,
    aborted: false,
  });
  expect((await kernel.tools("b")).map(({ name }) => name)).not.toContain("who");
  await expect(kernel.runTool("who", {}, { agent: "b", signal })).rejects.toMatchObject({ code: "SVC_TOOL_UNKNOWN" });
});
