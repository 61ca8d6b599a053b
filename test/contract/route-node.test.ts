import { join } from "node:path";
import { definePlugin, type Plugin, type Route, type TierEvent, type Turn } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { action, runIsolated } from "../faults/isolation.harness.ts";
import { type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const PATIENCE = { timeout: 20_000, interval: 5 };
const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), PATIENCE);

/** `far <node> ...` goes to the agent `a` of that node; its turns are held until the test answers them. */
function distance({ routes = true, takes = true } = {}) {
  const taken: { readonly turn: Turn; answer(...events: TierEvent[]): void }[] = [];
  const assembled: string[] = [];
  const plugin = definePlugin({
    kind: "feature",
    name: "distance",
    version: "1.0.0",
    svc: "*",
    capabilities: [],
    setup(ctx) {
      ctx.hooks.route.tap(({ text, channel, chat }): Route | undefined => {
        const [word, node] = text.split(" ");
        if (!routes || word !== "far") return undefined;
        return { agent: "a", ...(node === undefined ? {} : { node }), conversation: `${node}:${chat}`, reply: { channel, chat } };
      });
      ctx.hooks.assembleContext.tap((context, turn) => {
        assembled.push(turn.messages[0].text);
        return context;
      });
      ctx.hooks.dispatch.tap((turn, _, { signal }) => {
        if (!takes || turn.route.node === undefined) return undefined;
        return (async function* () {
          const events = await new Promise<readonly TierEvent[]>((resolve) => {
            taken.push({ turn, answer: (...said) => resolve(said) });
            signal.addEventListener("abort", () => resolve([]));
          });
          yield* events;
        })();
      });
    },
  }) as unknown as Plugin<never>;
  return { plugin, taken, assembled };
}

async function runDistance(options: RunOptions & { routes?: boolean; takes?: boolean } = {}) {
  const { routes, takes, ...rest } = options;
  const far = distance({ ...(routes === undefined ? {} : { routes }), ...(takes === undefined ? {} : { takes }) });
  const running = await runKernel({ inline: [far.plugin], ...rest });
  const send = (text: string, extra = {}) => running.kernel.tasks.run(running.message(text, { chat: text, ...extra }));
  return { ...running, ...far, send };
}

describe("a route to an agent on another node", () => {
  it("needs no agent of that name here: a tap of `dispatch` takes the turn, and its answer is the task's", async () => {
    const { kernel, taken, assembled, send } = await runDistance({
      config: { agents: { b: { name: "B", workspace: "./w", tier: "scripted" } }, node: { id: "n1", name: "N" } },
    });
    const run = send("far n2", { agent: "b" });
    await until(() => taken.length === 1);
    const [{ turn, answer }] = taken as [(typeof taken)[0]];
    expect(turn).toMatchObject({ route: { agent: "a", node: "n2" }, agent: { id: "a", tier: "" }, nativeSessions: false });
    expect(kernel.tasks.running()).toMatchObject([{ id: turn.id, agent: "a", node: "n2", step: "agent" }]);
    answer({ type: "done", text: "from afar" });
    expect(await run).toMatchObject({ ok: true, agent: "a", reply: "from afar" });
    expect(await kernel.traces.get(turn.id)).toMatchObject({ agent: "a", node: "n2", response: "from afar" });
    expect(assembled).toEqual([]);
  });

  it("fails with the agent, the node and the next step where no tap takes it, and when it is given back", async () => {
    const { send } = await runDistance({ takes: false });
    expect(await send("far n2")).toMatchObject({ ok: false, errorKind: "SVC_NODE_UNSERVED", error: expect.stringMatching(/Agent a .*'n2'.*enable/) });
    const other = await runDistance();
    const run = other.send("far n2");
    await until(() => other.taken.length === 1);
    other.taken[0]?.answer({ type: "pass", reason: "out of reach" });
    expect(await run).toMatchObject({ ok: false, errorKind: "SVC_NODE_UNSERVED" });
    expect(other.tier.prompts).toEqual([]);
  });

  it("without a node is a route to an agent here: one that does not exist is refused as before", async () => {
    const { send } = await runDistance({ config: { agents: { b: { name: "B", workspace: "./w", tier: "scripted" } }, node: { id: "n1", name: "N" } } });
    expect(await send("far", { agent: "b" })).toMatchObject({ ok: false, error: expect.stringContaining("There is no agent 'a'") });
  });

  it("stands in a lane of that node's agent, with default limits: those of the same id elsewhere do not wait for it", async () => {
    const { kernel, taken, send } = await runDistance();
    const runs = [send("far n2 1"), send("far n2 2"), send("far n3 1")];
    await until(() => taken.length === 2);
    expect(taken.map(({ turn }) => turn.messages[0].text)).toEqual(["far n2 1", "far n3 1"]);
    expect((await send("here")).reply).toBe("here");
    expect(kernel.tasks.queued()).toMatchObject([{ agent: "a", node: "n2" }]);
    for (const { answer } of taken) answer({ type: "done", text: "one" });
    await until(() => taken.length === 3);
    taken[2]?.answer({ type: "done", text: "two" });
    expect((await Promise.all(runs)).map(({ reply }) => reply)).toEqual(["one", "two", "one"]);
  });

  it("leaves restricted autonomy to the node that has the engine", async () => {
    const { taken, send } = await runDistance({ tier: scriptedTier() });
    const options = { options: { autonomy: "report" } };
    expect(await send("here", options)).toMatchObject({ ok: false, errorKind: "SVC_AUTONOMY_UNENFORCED" });
    const run = send("far n2", options);
    await until(() => taken.length === 1);
    expect(taken[0]?.turn.messages[0].options).toEqual({ autonomy: "report" });
    taken[0]?.answer({ type: "done", text: "reported" });
    expect(await run).toMatchObject({ ok: true, reply: "reported" });
  });

  it("keeps the node over a restart when it had begun there, whatever the taps would say now", async () => {
    const folder = await temporaryFolder();
    const options = { folder, dataFolder: join(folder, ".svc") };
    const before = await runDistance(options);
    const run = before.send("far n2");
    await until(() => before.taken.length === 1);
    await before.kernel.stop({ drainSeconds: 0 });
    expect(await run).toMatchObject({ errorKind: "interrupted" });
    const after = await runDistance({ ...options, routes: false });
    await until(() => after.taken.length === 1);
    const [{ turn, answer }] = after.taken as [(typeof after.taken)[0]];
    expect(turn).toMatchObject({ id: before.taken[0]?.turn.id, route: { agent: "a", node: "n2", conversation: "n2:far n2" }, messages: [{ attempts: 1 }] });
    answer({ type: "done", text: "at last" });
    expect(await after.kernel.tasks.result(turn.id)).toMatchObject({ ok: true, reply: "at last" });
  });

  it("is answered and taken by an isolated plugin, too", async () => {
    const { kernel, message, act } = await runIsolated([
      {
        name: "distance",
        setup: `const seen = [];
          ctx.hooks.route.tap(({ channel, chat }) => ({ agent: "z", node: "n2", conversation: "far", reply: { channel, chat } }));
          ctx.hooks.dispatch.tap(({ route, agent }) => (async function* () { seen.push(route.node + "/" + agent.id); yield { type: "done", text: "from afar" }; })());
          ${action("distance.seen", "return seen;")}`,
      },
    ]);
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true, agent: "z", reply: "from afar" });
    expect(await act("distance.seen")).toEqual(["n2/z"]);
  });
});
