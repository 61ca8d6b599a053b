import { join } from "node:path";
import type { Envelope, Plugin } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import delegate from "../../plugins/actions/mesh-delegate/index.ts";
import mesh from "../../plugins/features/mesh/index.ts";
import operatorActions from "../../plugins/features/operator-actions/index.ts";
import { foreignWire } from "../kit/foreign-wire.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const TOKEN = "the-token-that-both-nodes-hold";
const inline = [mesh, delegate, operatorActions] as unknown as Plugin<never>[];
const until = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 30_000, interval: 20 });

/** A daemon of the mesh with one agent; `peers` by name and address. */
const startNode = (id: string, peers: Readonly<Record<string, string>>, { agent = "a", token = TOKEN, ...options }: Record<string, unknown> = {}) =>
  runKernel({
    inline,
    listen: true,
    config: {
      node: { id, name: `Node ${id}`, bind: "127.0.0.1:0" },
      agents: { [agent as string]: { name: "Agent", workspace: "./w", tier: "scripted" } },
      mesh: { enabled: true, peers: Object.entries(peers).map(([name, url]) => ({ name, url, token })), healthCheck: { interval: 3_600, timeout: 2 } },
    },
    ...options,
  } as never);

const NOWHERE = "http://127.0.0.1:1";

async function post(base: string, path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(base + path, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

/** A node with the agent `far`, and one that knows it. */
async function pair() {
  const far = await startNode("n2", { n1: NOWHERE }, { agent: "far" });
  const near = await startNode("n1", { n2: baseOf(far.kernel), n3: NOWHERE });
  return {
    far,
    near,
    ask: (body: object, headers?: Record<string, string>) => post(baseOf(near.kernel), "/mesh/task", { peer: "n2", agent: "far", ...body }, headers),
  };
}

describe("MESH-10 tasks for agents of another daemon", () => {
  it("MESH-10 the task is run by the peer's own agent, and its answer is the result; both traces know it", async () => {
    const { far, near, ask } = await pair();
    const { status, body } = await ask({ message: "hello" });
    expect([status, body]).toMatchObject([200, { ok: true, agent: "far", reply: "hello" }]);
    expect(far.tier.prompts).toEqual(["hello"]);
    expect(near.tier.prompts).toEqual([]);
    expect(await near.kernel.traces.get(body["taskId"] as string)).toMatchObject({ node: "n2", agent: "far", status: "ok" });
    expect(await far.kernel.traces.list({})).toHaveLength(1);
  });

  it("MESH-10 what a peer hands over is never handed on, and a name that is not this node's says which is", async () => {
    const { near } = await pair();
    const headers = { authorization: `Bearer ${TOKEN}`, "x-forwarded-for": "203.0.113.7" };
    const { status, body } = await post(baseOf(near.kernel), "/mesh/task", { peer: "n3", agent: "a", message: "x" }, headers);
    expect([status, body]).toMatchObject([421, { code: "SVC_MESH_FORWARDED", error: expect.stringMatching(/This is n1 and not 'n3'/) }]);
    for (const peer of ["n1", "Node n1"])
      expect((await post(baseOf(near.kernel), "/mesh/task", { peer, agent: "a", message: "x" }, headers)).body).toMatchObject({ ok: true, reply: "x" });
  });

  it("the same key is one task, over a streamed answer too", async () => {
    const { far, ask } = await pair();
    const first = await ask({ message: "once" }, { "idempotency-key": "k1" });
    const again = await ask({ message: "once" }, { "idempotency-key": "k1" });
    expect(again.body).toMatchObject({ ok: true, reply: "once", duplicate: true, taskId: first.body["taskId"] });
    for (const other of [{ message: "different" }, { message: "once", agent: "another" }, { message: "once", freshSession: true }])
      expect(await ask(other, { "idempotency-key": "k1" })).toMatchObject({ status: 422, body: { code: "SVC_TASK_KEY_REUSED" } });
    expect(far.tier.prompts).toEqual(["once"]);
  });

  it("a peer that repeats a key gets the first answer, whatever of a collected turn it still has to ask", async () => {
    const { far } = await pair();
    const headers = { authorization: `Bearer ${TOKEN}`, "x-forwarded-for": "203.0.113.7", "idempotency-key": "task_1" };
    const asked = (message: string) => post(baseOf(far.kernel), "/mesh/task", { agent: "far", message }, headers);
    expect((await asked("one and two")).body).toMatchObject({ reply: "one and two" });
    expect((await asked("one")).body).toMatchObject({ reply: "one and two", duplicate: true });
  });

  it("MESH-10 a key that cannot be used is refused before anything runs, from this machine, with a conversation, and from a peer", async () => {
    const { far, near, ask } = await pair();
    const fromPeer = { authorization: `Bearer ${TOKEN}`, "x-forwarded-for": "203.0.113.7" };
    for (const key of ["", "k".repeat(201)]) {
      const headers = { "idempotency-key": key };
      for (const refused of [
        await ask({ message: "once" }, headers),
        await ask({ message: "once", context: { channel: "test", chatId: "1" } }, headers),
        await post(baseOf(far.kernel), "/mesh/task", { agent: "far", message: "once" }, { ...headers, ...fromPeer }),
      ])
        expect(refused).toMatchObject({ status: 400, body: { code: "SVC_MESH_KEY", field: "idempotency-key" } });
    }
    expect((await ask({ message: "longest" }, { "idempotency-key": "k".repeat(200) })).status).toBe(200);
    expect(far.tier.prompts).toEqual(["longest"]);
    expect(await near.kernel.traces.list({})).toHaveLength(1);
  });

  it("MESH-09 a busy agent queues the task there, and that is no error here", async () => {
    const { far, ask } = await pair();
    const [first, second] = [ask({ message: "hold one" }), ask({ message: "two" })];
    await until(() => expect(far.tier.held).toBe(1));
    far.tier.release("done");
    expect([(await first).body, (await second).body]).toMatchObject([{ ok: true }, { ok: true, reply: "two" }]);
  });

  it("the action mesh.delegate asks an agent there, and is unusable only without the mesh", async () => {
    const { far, near } = await pair();
    const run = async (input: object) => (await post(baseOf(near.kernel), "/api/actions/builtin/mesh.delegate", input)).body;
    expect(await run({ peer: "n2", agent: "far", message: "from an action" })).toMatchObject({
      status: "ok",
      output: { peer: "n2", agent: "far", reply: "from an action" },
    });
    expect(await run({ peer: "n2", agent: "far", message: "fail" })).toMatchObject({ status: "error", error: expect.stringContaining("the engine said no") });
    expect(await run({ peer: "n9", agent: "far", message: "x" })).toMatchObject({ status: "error", error: expect.stringContaining("There is no peer 'n9'") });
    const { actions } = (await (await fetch(`${baseOf(near.kernel)}/api/actions/builtin`)).json()) as { actions: { name: string; unusable?: string }[] };
    expect(actions.find(({ name }) => name === "mesh.delegate")?.unusable).toBeUndefined();
    expect(far.tier.prompts).toEqual(["from an action", "fail"]);
  });
});

it("MESH-06 the peer's events have the sender's root, caused by its forward event; a stranger's root is not taken", async () => {
  const { far, near, ask } = await pair();
  const { body } = await ask({ message: "hello" });
  const forwards = near.events.filter(({ kind, type }) => kind === "mesh" && type === "forward");
  const there = far.events.filter(({ kind }) => kind === "agent" || kind === "message");
  expect(forwards).toMatchObject([{ kind: "mesh", type: "forward", ref: body["taskId"] }]);
  expect(there.length).toBeGreaterThan(0);
  for (const event of there) expect(event.rootId).toBe(forwards[0]?.rootId);
  expect(there.some(({ parentId }) => parentId === forwards[0]?.id)).toBe(true);
  const local = await post(baseOf(far.kernel), "/task", { agent: "far", message: "x" }, { "x-svc-root-id": "evil", "x-svc-parent-id": "evil" });
  expect(local.status).toBe(200);
  expect(far.events.some(({ rootId }) => rootId === "evil")).toBe(false);
});

describe("MESH-08 each failure is told as what it is", () => {
  it("MESH-08 mesh off, unknown peer, unknown agent there, and a token that the peer does not know", async () => {
    const { near, far, ask } = await pair();
    const off = await runKernel({ inline: [delegate, operatorActions] as unknown as Plugin<never>[], listen: true });
    expect((await post(baseOf(off.kernel), "/mesh/task", { peer: "n2", agent: "a", message: "x" })).status).toBe(404);
    expect((await post(baseOf(off.kernel), "/api/actions/builtin/mesh.delegate", { peer: "n2", agent: "a", message: "x" })).body).toMatchObject({
      error: expect.stringContaining("the section mesh of svc.json is missing or off"),
    });
    expect(await post(baseOf(near.kernel), "/mesh/task", { peer: "n9", agent: "a", message: "x" })).toMatchObject({
      status: 404,
      body: { code: "SVC_MESH_PEER", error: expect.stringMatching(/no peer 'n9'.*n2, n3/), field: "peer" },
    });
    expect((await ask({ agent: "nobody", message: "x" })).body).toMatchObject({
      ok: false,
      errorKind: "SVC_AGENT_UNKNOWN",
      error: expect.stringContaining("no agent 'nobody' on n2"),
    });
    expect(await ask({ message: "x", context: { channel: "botmsg" } })).toMatchObject({ status: 400, body: { code: "SVC_MESH_CONTEXT" } });
    // On this machine nobody needs a token; the wire between them makes the caller a stranger.
    const wrong = await startNode("n4", { n2: await foreignWire(() => baseOf(far.kernel)) }, { token: "another-token-than-theirs" });
    expect((await post(baseOf(wrong.kernel), "/mesh/task", { peer: "n2", agent: "far", message: "x" })).body).toMatchObject({
      ok: false,
      errorKind: "SVC_MESH_TOKEN",
      error: expect.stringContaining("both must hold the same mesh.peers[].token"),
    });
    const tested = await post(baseOf(wrong.kernel), "/mesh/peers/n2/test", {});
    expect(tested.body).toMatchObject({ state: "refused", reason: expect.stringContaining("401") });
  });

  it("a peer that is away is told by mesh list, and one that is up with its agents", async () => {
    const { near } = await pair();
    const test = (peer: string) => post(baseOf(near.kernel), `/mesh/peers/${peer}/test`, {});
    expect((await test("n2")).body).toMatchObject({ state: "up", agents: ["far"] });
    expect((await test("n3")).body).toMatchObject({ state: "down", reason: expect.stringContaining("ECONNREFUSED") });
    expect((await test("n9")).status).toBe(404);
    const { peers } = (await (await fetch(`${baseOf(near.kernel)}/mesh/peers`)).json()) as { peers: object[] };
    expect(peers).toMatchObject([
      { name: "n2", state: "up" },
      { name: "n3", state: "down" },
    ]);
    expect(JSON.stringify(peers)).not.toContain(TOKEN);
  });
});

describe("what becomes of a peer is an event", () => {
  const of = (events: readonly Envelope[]) =>
    events.filter(({ kind, type }) => kind === "mesh" && !type.startsWith("feed:")).map(({ type, data }) => `${type} ${data?.["peer"]}`);

  it("lost once, recovered once, and other agents than before, however often it is asked", async () => {
    const far = await startNode("n2", { n1: NOWHERE }, { agent: "far" });
    const other = await startNode("n2", { n1: NOWHERE }, { agent: "another" });
    let target = baseOf(far.kernel);
    const near = await startNode("n1", { n2: await foreignWire(() => target) });
    const look = () => post(baseOf(near.kernel), "/mesh/peers/n2/test", {});
    expect((await look()).body).toMatchObject({ state: "up" });
    for (const now of [NOWHERE, NOWHERE, baseOf(far.kernel), baseOf(far.kernel), baseOf(other.kernel), baseOf(other.kernel)]) {
      target = now;
      await look();
    }
    expect(of(near.events)).toEqual(["added n2", "lost n2", "recovered n2", "skills-changed n2"]);
    expect(near.events.find(({ type }) => type === "skills-changed")?.data).toEqual({ peer: "n2", agents: ["another"] });
  });

  it("added and removed, over restarts, once each", async () => {
    const folder = await temporaryFolder();
    const options = { file: join(folder, "svc.json"), dataFolder: join(folder, ".svc") };
    const seen: string[][] = [];
    for (const peers of [
      { n2: NOWHERE, n3: NOWHERE },
      { n2: NOWHERE, n3: NOWHERE },
      { n3: "http://127.0.0.1:2", n4: NOWHERE },
    ] as Record<string, string>[]) {
      const near = await startNode("n1", peers, options);
      seen.push(of(near.events));
      await near.kernel.stop({ drainSeconds: 0 });
    }
    expect(seen).toEqual([["added n2", "added n3"], [], ["added n4", "removed n2"]]);
  });
});

it("EVT-10 and EVT-11: an announcement is one event with its whole text, in the name of the agent that makes it or of whom it names", async () => {
  const { near } = await pair();
  const text = "x".repeat(2_000);
  const announce = (body: object) => post(baseOf(near.kernel), "/mesh/announce", body);
  expect((await announce({ text, by: "a" })).status).toBe(200);
  expect((await announce({ text: "lunch", by: "the kitchen" })).status).toBe(200);
  const told = near.events.filter(({ kind }) => kind === "announce");
  expect(told).toMatchObject([
    { agentId: "a", text },
    { summary: "the kitchen: lunch", text: "lunch" },
  ]);
  expect([told[0]?.summary.length, told[1]?.agentId]).toEqual([280, undefined]);
  expect(await announce({ text: `${text}y` })).toMatchObject({ status: 400, body: { code: "SVC_MESH_ANNOUNCE" } });
  expect(near.events.filter(({ kind }) => kind === "announce")).toHaveLength(2);
});
