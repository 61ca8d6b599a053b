import { join } from "node:path";
import type { StoreDriver, StoreNode } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { configOf, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { openStore, type SqliteStore } from "../kit/store.ts";

const opened: SqliteStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** A state that outlives the kernels on it, and what each is told of the other nodes. */
async function sharedState() {
  const store = openStore({ file: join(await temporaryFolder(), "state.db") });
  opened.push(store);
  const nodes = new Map<string, StoreNode["state"]>();
  const { scope, onFailure, steady } = store;
  const driver: StoreDriver = {
    scope: scope.bind(store),
    onFailure: onFailure.bind(store),
    steady: steady.bind(store),
    nodes: async () => [...nodes].map(([name, state], at) => ({ name, state, boot: at + 1, host: "h", beatMs: 0 })),
  };
  const node = (id: string, config: Record<string, unknown> = {}) =>
    runKernel({ store: driver, config: { node: { ...configOf().node, id, name: id }, ...config } });
  return { store, nodes, node, core: scope.call(store, "core") };
}

describe("state that several nodes share", () => {
  it("RUN-05 what is in flight with another node that lives is its own; of a dead one it is taken up", async () => {
    const { nodes, node } = await sharedState();
    const first = await node("n1");
    const { taskId } = await first.kernel.tasks.accept(first.message("hold on"));
    await vi.waitFor(() => expect(first.tier.held).toBe(1));

    nodes.set("n1", "alive");
    const second = await node("n2");
    expect((await second.kernel.tasks.run(second.message("mine", { chat: "c2" }))).ok).toBe(true);
    expect(second.tier.prompts).toEqual(["mine"]);

    nodes.set("n1", "dead");
    const third = await node("n3");
    await vi.waitFor(() => expect(third.tier.held).toBe(1));
    expect(third.kernel.tasks.running().map(({ id }) => id)).toEqual([taskId]);
  });

  it("the starts of one node make no crash loop of another, and its end is no clean end of another", async () => {
    const { core, node } = await sharedState();
    const crashed = Array.from({ length: 5 }, () => ({ op: "append", journal: "starts", value: { node: "n1", at: Date.now(), clean: false } }) as const);
    await core.commit([...crashed, { op: "put", collection: "marks", key: "running n1", value: { at: 1 } }]);
    const { kernel } = await node("n2");
    expect(kernel.health()).not.toHaveProperty("lastCrash");
    await kernel.stop({ drainSeconds: 0 });
    const marks = (await core.collection("marks").list()).map(({ key }) => key);
    expect(marks.filter((key) => key.startsWith("running"))).toEqual(["running n1"]);
  });

  it("a start from before nodes had marks of their own is this node's: its crash is known, and the mark goes", async () => {
    const { core, node } = await sharedState();
    await core.commit([
      { op: "put", collection: "marks", key: "running", value: { at: 1 } },
      { op: "append", journal: "starts", value: { at: 1, clean: true } },
    ]);
    const { kernel } = await node("n1");
    expect(kernel.health()).toHaveProperty("lastCrash");
    const marks = (await core.collection("marks").list()).map(({ key }) => key);
    expect(marks.filter((key) => key.startsWith("running"))).toEqual(["running n1"]);
  });
});
