import { join } from "node:path";
import type { StoreDriver } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { configOf, runKernel, temporaryFolder } from "../kit/kernel.ts";
import { openStore, type SqliteStore } from "../kit/store.ts";

const opened: SqliteStore[] = [];
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
});

/** A state that outlives the kernels on it. What nodes do with one another's work is in `test/faults/nodes.test.ts`, on a store with rows for it. */
async function sharedState() {
  const store = openStore({ file: join(await temporaryFolder(), "state.db") });
  opened.push(store);
  const { scope, onFailure, steady } = store;
  const driver: StoreDriver = {
    scope: scope.bind(store),
    onFailure: onFailure.bind(store),
    steady: steady.bind(store),
  };
  const node = (id: string, config: Record<string, unknown> = {}) =>
    runKernel({ store: driver, config: { node: { ...configOf().node, id, name: id }, ...config } });
  return { node, core: scope.call(store, "core") };
}

describe("state that several nodes share", () => {
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
