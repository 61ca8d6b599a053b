import { join } from "node:path";
import { type Actions, definePlugin, type Plugin } from "@svc/sdk";
import { expect, it, vi } from "vitest";
import agentCall from "../../plugins/actions/agent-call/index.ts";
import { ROOT } from "../house/house.ts";
import { baseOf, post, type RunOptions, runKernel } from "../kit/kernel.ts";

/**
 * A tier whose agents carry out what they are told: `call <agent> <rest>` asks that agent and answers with its words or its error;
 * `ring <agents>` calls the next in the ring for ever; `wait` waits until `go`.
 */
function caller() {
  let go = (): void => {};
  const gate = new Promise<void>((resolve) => (go = resolve));
  let actions: Actions | undefined;
  const plugin = definePlugin({
    kind: "tier",
    name: "caller",
    version: "1.0.0",
    svc: "*",
    capabilities: ["actions"],
    setup(ctx) {
      actions = ctx.actions;
      ctx.provide.tier({
        name: "caller",
        async *run(turn, { prompt }) {
          const [verb, next, ...rest] = prompt.split(" ");
          const say = async (agentId: string, message: string, freshSession = true) => {
            // The chain is not named: the daemon knows it from the task.
            const { status, output, error } = await ctx.actions.run("agent.call", { agentId, message, freshSession }, { door: "agent", taskId: turn.id });
            return status === "ok" ? (output as { reply: string }).reply : `FAILED ${error}`;
          };
          if (verb === "wait") await gate;
          if (verb === "call" || verb === "same") yield { type: "text", text: await say(next as string, rest.join(" "), verb === "call") };
          else if (verb === "ring") yield { type: "text", text: await say(next as string, `ring ${[...rest, next].join(" ")}`) };
          else yield { type: "text", text: `${turn.agent.id} says ${prompt}` };
          yield { type: "done" };
        },
      });
    },
  });
  return { plugin: plugin as Plugin<never>, go: () => go(), actions: () => actions as Actions };
}

async function agents(count: Record<string, number>, { config = {}, ...options }: RunOptions = {}) {
  const tier = caller();
  const table = Object.entries(count).map(([id, maxConcurrent]) => [id, { name: id, workspace: "./w", tier: "caller", maxConcurrent }]);
  const run = await runKernel({ inline: [tier.plugin, agentCall as Plugin<never>], config: { agents: Object.fromEntries(table), ...config }, ...options });
  return { ...run, ...tier };
}

const idle = (kernel: { tasks: { running(): readonly unknown[]; queued(): readonly unknown[] } }) =>
  vi.waitFor(() => expect([...kernel.tasks.running(), ...kernel.tasks.queued()]).toEqual([]), { timeout: 10_000 });

it.each([1, 8])("RUN-10 two agents that call each other end at once with words that name the chain, whether or not a slot is free (%i each)", async (slots) => {
  const { kernel, message } = await agents({ a: slots, b: slots });
  const { ok, reply } = await kernel.tasks.run(message("ring b a"));
  expect(ok).toBe(true);
  expect(reply).toMatch(/Agent a is not asked: it waits for this answer itself \(a -> b -> a\)/);
  const traces = await kernel.traces.list({ limit: 100 });
  expect(traces.filter(({ errorKind }) => errorKind === "refused")).toHaveLength(1);
  expect(traces).toHaveLength(3);
  await idle(kernel);
});

it("FLT-7 two chains that wait for each other's slots end at once, and so does a conversation that waits for itself", async () => {
  const { kernel, message } = await agents({ a: 1, d: 1 });
  const runs = ["a", "d"].map((agent) => kernel.tasks.run(message(`call ${agent === "a" ? "d" : "a"} hello`, { agent, chat: agent })));
  const replies = (await Promise.all(runs)).map(({ reply }) => reply).join("\n");
  expect(replies).toMatch(/Agent [ad] cannot be asked: the call would wait for task_\w+ of agent [ad].*which cannot end before it is answered/s);
  await idle(kernel);
  const own = await agents({ a: 4, b: 4, c: 4 });
  expect((await own.kernel.tasks.run(own.message("same b same c same a hello"))).reply).toContain("(a -> b -> c -> a)");
  await idle(own.kernel);
});

it("FLT-7 a call that waits for somebody else's work is answered when that is done", async () => {
  const { kernel, message, go } = await agents({ a: 2, b: 1 });
  const other = kernel.tasks.run(message("wait", { agent: "b", chat: "other" }));
  await vi.waitFor(() => expect(kernel.tasks.running()).toHaveLength(1));
  const asked = kernel.tasks.run(message("call b hello"));
  await vi.waitFor(() => expect(kernel.tasks.queued()).toHaveLength(1));
  go();
  expect(await asked).toMatchObject({ ok: true, reply: "b says hello" });
  expect(await other).toMatchObject({ ok: true });
});

it("FLT-7 calls within calls end at 32, and RUN-10 holds where only the task is named", async () => {
  const row = Array.from({ length: 40 }, (_, at) => (at === 0 ? "a" : `n${at}`));
  const free = row.map((id) => [id, { name: id, workspace: "./w", tier: "caller", maxDelegationDepth: 0 }]);
  const many = await agents({}, { config: { agents: Object.fromEntries(free) } });
  const calls = row.slice(1).map((id) => `call ${id}`);
  const { reply } = await many.kernel.tasks.run(many.message(`${calls.join(" ")} hello`));
  expect(reply).toContain("32 calls of agents wait for each other already");
  expect(await many.kernel.traces.list({ limit: 100 })).toHaveLength(34);
  const strict = { a: { name: "a" }, b: { name: "b" }, c: { name: "c", maxDelegationDepth: 2 } };
  const table = Object.entries(strict).map(([id, more]) => [id, { workspace: "./w", tier: "caller", ...more }]);
  const { kernel, message } = await agents({}, { config: { agents: Object.fromEntries(table) } });
  expect((await kernel.tasks.run(message("call b call c hello"))).reply).toContain("maxDelegationDepth is 2");
});

it("CON-D4 a call over HTTP that names the task it is part of is under maxDelegationDepth; one that names none begins a chain", async () => {
  const agent = { workspace: "./w", tier: "caller", maxConcurrent: 2 };
  const { kernel, message, go } = await agents(
    {},
    {
      listen: true,
      known: [join(ROOT, "plugins/features/operator-actions")],
      config: { agents: { a: { ...agent, name: "a" }, b: { ...agent, name: "b", maxDelegationDepth: 1 } } },
    },
  );
  const asking = kernel.tasks.run(message("wait"));
  await vi.waitFor(() => expect(kernel.tasks.running()).toHaveLength(1));
  const [task] = kernel.tasks.running();
  const ask = (query: string) => post(baseOf(kernel), `/api/actions/builtin/agent.call${query}`, { agentId: "b", message: "hello" });
  expect((await ask(`?task=${task?.id}`)).body).toMatchObject({ status: "error", error: expect.stringContaining("maxDelegationDepth is 1") });
  expect((await ask("")).body).toMatchObject({ status: "ok", output: { reply: "b says hello" } });
  go();
  expect((await kernel.traces.get((await asking).taskId))?.steps).toMatchObject([{ name: "agent.call", kind: "action" }]);
});
