import { join } from "node:path";
import { type Actions, definePlugin, type Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import delegate from "../../plugins/actions/mesh-delegate/index.ts";
import mesh from "../../plugins/features/mesh/index.ts";
import { baseOf, post, type RunOptions, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { createChat } from "./approvals.harness.ts";

const TOKEN = "the-token-that-both-nodes-hold";
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 20_000, interval: 20 });

/** A daemon of the mesh with a chat, and a plugin that calls actions as an agent does. */
async function startNode(id: string, peers: Readonly<Record<string, string>>, agent: string, options: RunOptions = {}) {
  const chat = createChat();
  let actions: Actions | undefined;
  const caller = definePlugin({
    kind: "feature",
    name: "caller",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["actions"],
    setup: (ctx) => void (actions = ctx.actions),
  }) as Plugin<never>;
  const running = await runKernel({
    inline: [mesh, delegate, chat.plugin, caller] as unknown as Plugin<never>[],
    listen: true,
    config: {
      node: { id, name: `Node ${id}`, bind: "127.0.0.1:0" },
      agents: { [agent]: { name: "Agent", workspace: "./w", tier: "scripted" } },
      mesh: { enabled: true, feed: { enabled: false }, peers: Object.entries(peers).map(([name, url]) => ({ name, url, token: TOKEN })) },
    },
    ...options,
  });
  const ask = (input: object, taskId?: string) =>
    (actions as Actions).run("mesh.delegate", { peer: "n2", agent: "far", ...input }, { door: "agent", agent, ...(taskId === undefined ? {} : { taskId }) });
  const call = (input: object, more: object) => (actions as Actions).run("mesh.delegate", input, { door: "agent", agent, ...more });
  return { ...running, chat, ask, call };
}

async function pair(options: RunOptions = {}) {
  const far = await startNode("n2", { n1: "http://127.0.0.1:1" }, "far");
  const near = await startNode("n1", { n2: baseOf(far.kernel) }, "a", options);
  const give = (context: object, more: object = {}) =>
    post(baseOf(near.kernel), "/mesh/task", { peer: "n2", agent: "far", message: "hold on", context, ...more });
  return { far, near, give };
}

describe("MESH-07 an answer that nobody waits for comes as a new message into its conversation", () => {
  it("MESH-07 with a conversation the call returns at once, and its agent is told what the peer says", async () => {
    const { far, near, give } = await pair();
    await near.chat.say("hello");
    await until(() => expect(near.chat.said).toHaveLength(1));
    const { status, body } = await give({ channel: "chat", chatId: "boss" });
    expect([status, body]).toEqual([202, { ok: true, taskId: expect.stringMatching(/^task_/) }]);
    await until(() => expect(far.tier.held).toBe(1));
    expect(near.chat.said).toHaveLength(1);
    far.tier.release("it is 42");
    await until(() => expect(near.chat.said).toHaveLength(2));
    expect(near.chat.said[1]?.text).toContain("it is 42");
    expect(near.tier.prompts[1]).toMatch(/^far on n2, whom you asked "hold on", has answered\..*is data/s);
    const [told] = await near.kernel.traces.list({ channel: "chat", limit: 1 });
    expect(told).toMatchObject({ agent: "a", chat: "boss", sender: "n2/far" });
  });

  it("MESH-07 a key of a request that is awaited is refused with another one, and the first answer comes to its own conversation", async () => {
    const { far, near } = await pair();
    await near.chat.say("hello");
    await post(baseOf(near.kernel), "/task", { agent: "a", message: "hello", context: { channel: "chat", chatId: "guest" } });
    await until(() => expect(near.chat.said).toHaveLength(1));
    const give = (chatId: string, message: string) =>
      post(baseOf(near.kernel), "/mesh/task", { peer: "n2", agent: "far", message, context: { channel: "chat", chatId } }, { "idempotency-key": "k1" });
    const first = await give("boss", "hold on");
    expect(first.status).toBe(202);
    await until(() => expect(far.tier.held).toBe(1));
    const refused = { status: 422, body: { code: "SVC_TASK_KEY_REUSED" } };
    expect(await give("boss", "different")).toMatchObject(refused);
    expect(await give("guest", "hold on")).toMatchObject(refused);
    expect(await give("boss", "hold on")).toEqual(first);
    far.tier.release("it is 42");
    await until(() => expect(near.chat.said).toHaveLength(2));
    expect(await give("guest", "hold on")).toMatchObject(refused);
    expect(near.chat.said.slice(1)).toMatchObject([{ target: { chat: "boss" }, text: expect.stringContaining("it is 42") }]);
    expect(far.tier.prompts).toEqual(["hold on"]);
  });

  it("MESH-07 half a conversation is 400, and one where nobody has spoken, too", async () => {
    const { give, far } = await pair();
    expect(await give({ channel: "chat" })).toMatchObject({ status: 400, body: { code: "SVC_MESH_CONTEXT" } });
    expect(await give({ chatId: "boss" })).toMatchObject({ status: 400, body: { code: "SVC_MESH_CONTEXT" } });
    expect(await give({ channel: "chat", chatId: "boss" })).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining("No agent has lately worked") },
    });
    expect(far.tier.prompts).toEqual([]);
  });

  it("MESH-07 mesh.delegate returns at once where a person waits, and waits where a program does", async () => {
    const { far, near } = await pair();
    await near.chat.say("ask far for me");
    await until(() => expect(near.chat.said).toHaveLength(1));
    const [asked] = await near.kernel.traces.list({ channel: "chat" });
    const envelope = await near.ask({ message: "hold on" }, asked?.id);
    expect(envelope).toMatchObject({ status: "ok", output: { reply: expect.stringContaining("new message in this conversation") } });
    await until(() => expect(far.tier.held).toBe(1));
    far.tier.release("from far");
    await until(() => expect(near.chat.said.at(-1)?.text).toContain("from far"));
    expect((await near.ask({ message: "no person here" })).output).toMatchObject({ reply: "no person here" });
  });

  it("MESH-07 a failure is told, too, and a restart in between loses and doubles nothing", async () => {
    const file = join(await temporaryFolder(), "svc.json");
    const { far, near, give } = await pair({ file });
    await near.chat.say("hello");
    await until(() => expect(near.chat.said).toHaveLength(1));
    await give({ channel: "chat", chatId: "boss" }, { message: "fail" });
    await until(() => expect(near.chat.said.at(-1)?.text).toContain("did not answer: Node n2: the engine said no"));
    await give({ channel: "chat", chatId: "boss" });
    await until(() => expect(far.tier.held).toBe(1));
    await near.kernel.stop({ drainSeconds: 0 });
    far.tier.release("after the restart");
    const again = await startNode("n1", { n2: baseOf(far.kernel) }, "a", { file });
    await until(() => expect(again.chat.said.some(({ text }) => text.includes("after the restart"))).toBe(true));
    await again.chat.say("last");
    await until(() => expect(again.chat.said.at(-1)?.text).toBe("last"));
    expect(again.chat.said.filter(({ text }) => text.includes("after the restart"))).toHaveLength(1);
    expect(far.tier.prompts).toEqual(["fail", "hold on"]);
  });
});

it("RUN-10 FAULT-44 an agent that a peer's agent asks back is not asked again, and the hops are named; agents of one name on two machines are two", async () => {
  const { far, near } = await pair();
  const back = await startNode("n2", { n1: baseOf(near.kernel) }, "far");
  // What far does for a of n1 asks a of n1 again: refused there, at once.
  const looped = await back.call({ peer: "n1", agent: "a", message: "and you?" }, { chain: ["n1/a"] });
  expect(looped).toMatchObject({ status: "error", error: expect.stringContaining("n1/a -> n2/far -> n1/a") });
  expect(near.tier.prompts).toEqual([]);
  const twin = await back.call({ peer: "n1", agent: "a", message: "another a" }, { chain: ["n3/a"] });
  expect(twin).toMatchObject({ status: "ok", output: { reply: "another a" } });
  expect(far.tier.prompts).toEqual([]);
});

describe("a task that is cancelled here is cancelled at the peer", () => {
  it("while it runs there", async () => {
    const { far, near } = await pair();
    const asking = post(baseOf(near.kernel), "/mesh/task", { peer: "n2", agent: "far", message: "hold on" });
    await until(() => expect(far.tier.held).toBe(1));
    const [task] = near.kernel.tasks.running();
    expect(await near.kernel.tasks.cancel(task?.id ?? "", "no longer needed")).toBe(true);
    expect((await asking).body).toMatchObject({ ok: false, errorKind: "cancelled" });
    await until(() => expect(far.tier.held).toBe(0));
    const [there] = await far.kernel.traces.list({});
    await until(async () =>
      expect(await far.kernel.traces.get(there?.id ?? "")).toMatchObject({ errorKind: "cancelled", error: expect.stringContaining("n1") }),
    );
  });

  it("not where the daemon only stops: the peer goes on", async () => {
    const { far, near } = await pair();
    const asking = post(baseOf(near.kernel), "/mesh/task", { peer: "n2", agent: "far", message: "hold on" }).catch(() => undefined);
    await until(() => expect(far.tier.held).toBe(1));
    await near.kernel.stop({ drainSeconds: 0 });
    await asking;
    expect(far.tier.held).toBe(1);
    far.tier.release("done");
  });

  it("only a peer may ask for it", async () => {
    const { near } = await pair();
    expect((await post(baseOf(near.kernel), "/mesh/task/cancel", { agent: "a", message: "x" })).status).toBe(400);
  });
});
