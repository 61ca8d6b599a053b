import { createKernel } from "@svc/kernel";
import type { Plugin, Store, StoreDriver } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const config = { node: { id: "n1", name: "Node 1" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } } };

it("AUT-4 a program keeps the state in a store of its own, over a restart of the kernel", async () => {
  const owners = new Map<string, Store>();
  const heard: string[] = [];
  const store: StoreDriver = {
    scope(owner) {
      const known = owners.get(owner) ?? createMemoryStore();
      owners.set(owner, known);
      return known;
    },
    reclaim: async () => void heard.push("reclaim"),
    health: () => ({ ok: false, reason: "the bucket is read-only" }),
    close: async () => void heard.push("close"),
  };
  const folder = await temporaryFolder();
  const run = async (text: string) => {
    const kernel = await createKernel({ config, folder, plugins: [scriptedTier().plugin as Plugin<never>], store });
    await kernel.start();
    const result = await kernel.tasks.run({ entry: "task", channel: "app", chat: "1", text, agent: "a" });
    const listed = await kernel.traces.list({ agent: "a", channel: "app" });
    const { ok, ...health } = kernel.health();
    await kernel.stop();
    return { result, listed: listed.map(({ message }) => message), health: JSON.stringify(health) };
  };
  expect(await run("one")).toMatchObject({ result: { ok: true }, listed: ["one"], health: expect.stringContaining("the bucket is read-only") });
  expect(await run("two")).toMatchObject({ result: { ok: true }, listed: ["two", "one"] });
  expect(heard).toEqual(["reclaim", "close", "reclaim", "close"]);
  expect([...owners.keys()]).toContain("core");
});
