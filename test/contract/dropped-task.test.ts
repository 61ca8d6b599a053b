import { definePlugin, type Plugin, type TierEvent } from "@svc/sdk";
import { beforeEach, expect, it } from "vitest";
import agentCall from "../../plugins/actions/agent-call/index.ts";
import agentActions from "../../plugins/features/agent-actions/index.ts";
import { baseOf, runKernel } from "../kit/kernel.ts";

/** What the program of each agent asks the daemon, by agent: a path and a body; it prints what it is answered. */
let asks: Record<string, { path: string; body: object; headers?: object }>;
/** The chain of each task, by agent; of several the newest. */
let chains: Record<string, readonly string[]>;
let base: string;
beforeEach(() => {
  asks = {};
  chains = {};
});

const PROGRAM = `const { path, body, headers } = JSON.parse(process.argv[1]);
fetch(path, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) })
  .then((answer) => answer.text()).then((text) => console.log(text));`;
/** How the program is started below the engine: none of them hands its environment on. */
const STARTERS: Record<string, (args: string[]) => [string, string[]]> = {
  "with an empty environment": (args) => ["env", ["-i", process.execPath, ...args]],
  "in a session of its own, below a program that drops it": (args) => ["sh", ["-c", 'env -i setsid --wait "$@" | cat', "sh", process.execPath, ...args]],
};
let starter: string;

/** A tier whose engine is a program that asks the daemon without saying for whom it works. */
const tier = definePlugin({
  kind: "tier",
  name: "forgetful",
  version: "1.0.0",
  svc: "^0.1.0",
  capabilities: ["spawn"],
  setup(ctx) {
    ctx.provide.tier({
      name: "forgetful",
      nativeSessions: false,
      abilities: { autonomy: ["report", "propose"] },
      async *run(turn, { prompt }): AsyncGenerator<TierEvent> {
        const ask = asks[turn.agent.id];
        chains[turn.agent.id] = turn.messages[0].options?.chain ?? [];
        let text = `${turn.agent.id} heard ${prompt}`;
        if (ask !== undefined) {
          const [command, args] = STARTERS[starter]!(["-e", PROGRAM, JSON.stringify({ ...ask, path: base + ask.path })]);
          text = (await ctx.spawn(command, args, { cwd: "/", taskId: turn.id }).ended).stdout;
        }
        yield { type: "text", text };
        yield { type: "done" };
      },
    });
  },
});

async function run(how = "with an empty environment") {
  starter = how;
  const agent = (name: string) => ({ name, workspace: `./${name}`, tier: "forgetful" });
  const running = await runKernel({
    listen: true,
    inline: [tier, agentCall, agentActions] as unknown as Plugin<never>[],
    config: { agents: { a: agent("a"), b: agent("b"), c: agent("c") } },
  });
  base = baseOf(running.kernel);
  return running;
}

it.each(Object.keys(STARTERS))("RUN-10 a program that drops SVC_TASK_ID stays on its task's chain: A asks B asks A ends at once; started %s", async (how) => {
  const { kernel, message } = await run(how);
  asks = { a: { path: "/task", body: { agent: "b", message: "for b" } }, b: { path: "/task", body: { agent: "a", message: "back to a" } } };
  const { reply } = await kernel.tasks.run(message("begin"));
  expect(chains["b"]).toEqual(["a"]);
  expect(reply).toContain("Agent a is not asked: it waits for this answer itself (a -> b -> a).");
});

it("RUN-10 a program that names the task of another, or none while it speaks for another agent, is on the chain of its own", async () => {
  const { kernel, message } = await run();
  asks = { a: { path: "/task", body: { agent: "c", message: "for c" }, headers: { "x-svc-task": "task_of_somebody" } } };
  expect(await kernel.tasks.run(message("begin"))).toMatchObject({ ok: true, reply: expect.stringContaining("c heard for c") });
  expect(chains["c"]).toEqual(["a"]);
  asks = { a: { path: "/agents/b/tools/agent_call", body: { agentId: "c", message: "as b" } } };
  expect(await kernel.tasks.run(message("begin"))).toMatchObject({ ok: true, reply: expect.stringContaining("c heard as b") });
  expect(chains["c"]).toEqual(["a", "b"]);
});

it("a program that nobody has started for a task begins a chain of its own", async () => {
  await run();
  await (await fetch(`${base}/task`, { method: "POST", headers: { "content-type": "application/json" }, body: '{"agent":"c","message":"x"}' })).text();
  expect(chains["c"]).toEqual([]);
});
