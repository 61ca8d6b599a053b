import { type Capability, definePlugin, type Envelope, type Plugin, type PluginContext } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import subscriptions from "../../plugins/features/subscriptions/index.ts";
import { baseOf, post, runKernel } from "../kit/kernel.ts";

const until = (condition: () => boolean) => vi.waitFor(() => expect(condition()).toBe(true), { timeout: 10_000, interval: 5 });

describe("events of a running kernel", () => {
  it("EVT-09 a marker sent through every entry appears in no event, whole or in part", async () => {
    const marker = "MARKER-7c1f-words-of-a-person";
    const { kernel, tier, events, message } = await runKernel({ listen: true });
    const base = baseOf(kernel);
    await post(base, "/task", { agent: "a", message: marker });
    await post(base, "/ask", { message: marker });
    await post(base, "/task", { agent: "a", message: `fail ${marker}` });
    await post(base, "/task", { agent: "a", message: `tool lookup ${marker}` });
    await kernel.tasks.run(message(marker, { entry: "channel", channel: "acme", platformId: "77", sender: { id: "1", name: "Ann" } }));
    const held = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    await post(base, `/api/tasks/${kernel.tasks.running()[0]?.id}/followup`, { message: marker });
    tier.release();
    await held;
    await until(() => kernel.tasks.running().length + kernel.tasks.queued().length === 0);
    expect(events.filter(({ type }) => type === "task:completed").length).toBeGreaterThan(5);
    expect(JSON.stringify(events)).not.toContain("7c1f");
    expect(Math.max(...events.map(({ summary }) => [...summary].length))).toBeLessThanOrEqual(280);
  });

  it("EVT-12 everything one message causes shares its root, over the queue and the turn; two messages never do", async () => {
    const { kernel, tier, events, message } = await runKernel({ agent: { queueMode: "followup" } });
    const runs = [kernel.tasks.run(message("hold")), undefined, undefined] as Promise<unknown>[];
    await until(() => tier.held === 1);
    runs[1] = kernel.tasks.run(message("tool lookup"));
    runs[2] = kernel.tasks.run(message("third"));
    await until(() => kernel.tasks.queued().length === 2);
    tier.release();
    await Promise.all(runs);
    const byRoot = new Map<string, string[]>();
    for (const { kind, rootId, type } of events) if (kind === "message" || kind === "agent") byRoot.set(rootId, [...(byRoot.get(rootId) ?? []), type]);
    expect([...byRoot.values()]).toEqual([
      ["message:matched", "task:started", "task:completed"],
      ["message:matched", "task:queued", "task:started", "task:step", "task:step", "task:completed"],
      ["message:matched", "task:queued", "task:started", "task:completed"],
    ]);
    const [queued] = events.filter(({ type }) => type === "task:queued");
    const [, second] = (await Promise.all(runs)) as { readonly taskId: string }[];
    expect(queued).toMatchObject({ kind: "agent", agentId: "a", ref: second?.taskId, data: { taskId: second?.taskId, channel: "http" } });
    expect(queued?.summary).not.toContain("lookup");
    const matched = events.find(({ type }) => type === "message:matched");
    expect(events.find(({ type, rootId }) => type === "task:started" && rootId === matched?.rootId)?.parentId).toBe(matched?.id);
  });

  it("EVT-12 a run that another one causes keeps its root", async () => {
    const { kernel, events, message } = await runKernel({ agent: { maxConcurrent: 2 } });
    await kernel.bus.root(async () => {
      await kernel.tasks.run(message("first", { chat: "1" }));
      await kernel.tasks.run(message("second", { chat: "2" }));
    });
    const roots = new Set(events.filter(({ type }) => type === "task:completed").map(({ rootId }) => rootId));
    expect(roots.size).toBe(1);
  });

  it("EVT-10 a plugin with the permission brings in what another machine published, once and as it is; what it causes keeps that root", async () => {
    const contexts: PluginContext[] = [];
    const causes: unknown[] = [];
    const peer = (name: string, capabilities: readonly Capability[]) =>
      definePlugin({
        kind: "feature",
        name,
        version: "1.0.0",
        svc: "*",
        capabilities,
        setup(ctx) {
          contexts.push(ctx);
          ctx.events.subscribe((envelope) => {
            if (name === "peers" && envelope.node === "far")
              causes.push(ctx.events.current(), ctx.events.publish({ kind: "x", type: "peers:heard", summary: "" }));
          });
        },
      });
    const { kernel, events } = await runKernel({
      listen: true,
      inline: [peer("peers", ["events", "events:peers"]), peer("others", ["events"])] as unknown as Plugin<never>[],
    });
    const [peers, others] = contexts as [PluginContext, PluginContext];
    const theirs = {
      id: "evt_0123456789_4",
      rootId: "evt_0123456789_1",
      parentId: "evt_0123456789_3",
      node: "far",
      agentId: "bob",
      kind: "agent",
      type: "task:completed",
      at: "2026-01-01T00:00:00.000Z",
      summary: "bob ok",
      data: { taskId: "t" },
    };
    expect(peers.events.inject({ ...theirs, extra: "x" } as Envelope)).toBe(true);
    expect(peers.events.inject(theirs)).toBe(false);
    // What was published here and comes back is no news.
    const own = events.find(({ node }) => node === "n1") as Envelope;
    expect(peers.events.inject(own)).toBe(false);
    expect(events.filter(({ node }) => node === "far")).toEqual([theirs]);
    expect(causes).toEqual([
      { rootId: theirs.rootId, parentId: theirs.id },
      expect.objectContaining({ node: "n1", rootId: theirs.rootId, parentId: theirs.id, source: "feature-peers" }),
    ]);
    const recent = async (query: string) => ((await (await fetch(`${baseOf(kernel)}/events/recent${query}`)).json()) as { events: Envelope[] }).events;
    expect((await recent("?kind=agent")).map(({ id, node }) => [id, node])).toEqual([[theirs.id, "far"]]);
    expect((await recent("?origin=local")).some(({ node }) => node === "far")).toBe(false);
    expect(() => others.events.inject({ ...theirs, id: "another" })).toThrow(expect.objectContaining({ code: "SVC_CAPABILITY_UNDECLARED" }));
    expect(() => peers.events.inject({ ...theirs, id: 7 } as never)).toThrow(expect.objectContaining({ code: "SVC_EVENT_FOREIGN" }));
    expect(events.filter(({ node }) => node === "far")).toHaveLength(1);
  });

  it("EVT-14 the ref of a finished task resolves to its trace, whatever its end", async () => {
    const { kernel, events } = await runKernel({ listen: true });
    const base = baseOf(kernel);
    for (const text of ["fine", "fail", "throw", "silent"]) await post(base, "/task", { agent: "a", message: text });
    const completed = events.filter(({ type }) => type === "task:completed");
    expect(completed).toHaveLength(4);
    for (const { ref } of completed) {
      const answer = await fetch(`${base}/traces/${ref}`);
      expect(answer.status).toBe(200);
      expect(await answer.json()).toMatchObject({ id: ref });
    }
    expect(events.filter(({ kind }) => kind === "status").every(({ ref }) => ref === undefined)).toBe(true);
  });

  it("EVT-15 an agent reads what it subscribed to: all given selectors hold, match is a part of type or summary without case, none means nothing", async () => {
    const { kernel } = await runKernel({
      listen: true,
      inline: [subscriptions as unknown as Plugin<never>],
      config: {
        agents: {
          a: {
            name: "A",
            workspace: "./w",
            tier: "scripted",
            subscriptions: [
              { kinds: ["announce"], match: "DEPLOY", delivery: "pull" },
              { agents: ["b"], delivery: "pull" },
            ],
          },
          b: { name: "B", workspace: "./w", tier: "scripted" },
        },
      },
    });
    const base = baseOf(kernel);
    const publish = (kind: string, type: string, summary: string, agentId?: string) =>
      kernel.bus.publish({ kind, type, summary, ...(agentId === undefined ? {} : { agentId }) });
    publish("announce", "announce", "the deploy is done");
    publish("announce", "announce", "lunch");
    publish("status", "status", "a deploy of no announce kind");
    publish("agent", "task:started", "b started", "b");
    publish("agent", "task:started", "a started", "a");
    const read = async (id: string) =>
      (await (await fetch(`${base}/agents/${id}/events`)).json()) as { subscriptions: unknown[]; events: { summary: string }[]; next: string | null };
    const mine = await read("a");
    expect(mine.events.map(({ summary }) => summary)).toEqual(["the deploy is done", "b started"]);
    expect(mine.subscriptions).toHaveLength(2);
    expect((await read("b")).events).toEqual([]);
  });

  it("API-08 replace ends the running task first, then runs at once and ahead of what waits", async () => {
    const { kernel, tier, events, message } = await runKernel({ agent: { queueMode: "followup" } });
    const old = kernel.tasks.run(message("hold"));
    await until(() => tier.held === 1);
    const waiting = kernel.tasks.run(message("waited"));
    await until(() => kernel.tasks.queued().length === 1);
    const accepted = await kernel.tasks.followup(kernel.tasks.running()[0]!.id, { text: "instead", replace: true });
    expect(await old).toMatchObject({ errorKind: "cancelled" });
    await waiting;
    expect(tier.prompts).toEqual(["hold", "instead", "waited"]);
    const order = events
      .filter(({ type }) => type === "task:started" || type === "task:completed")
      .map(({ type, ref }) => `${type} ${ref === accepted?.taskId ? "new" : "other"}`);
    expect(order.indexOf("task:started new")).toBeGreaterThan(order.indexOf("task:completed other"));
  });

  it("API-03 a caller who leaves does not end the task", async () => {
    const { kernel, tier } = await runKernel({ listen: true });
    const leave = new AbortController();
    const response = await fetch(`${baseOf(kernel)}/task`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent: "a", message: "hold" }),
      signal: leave.signal,
    });
    await until(() => tier.held === 1);
    leave.abort();
    await response.text().catch(() => {});
    const id = kernel.tasks.running()[0]!.id;
    tier.release("finished alone");
    await vi.waitFor(async () => expect(await kernel.traces.get(id)).toMatchObject({ status: "ok", response: "begun finished alone" }));
  });

  it("CFG-15 an intents list whose only entry came out empty means nothing, not anything", async () => {
    const any = await runKernel();
    expect((await any.kernel.tasks.run(any.message("x", { options: { intent: "issue.opened" } }))).ok).toBe(true);
    const none = await runKernel({ agent: { intents: ["${UNSET_HERE}"] } });
    expect((await none.kernel.tasks.run(none.message("x", { options: { intent: "issue.opened" } }))).ok).toBe(false);
  });
});
