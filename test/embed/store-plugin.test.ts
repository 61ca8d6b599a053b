import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKernel, type Kernel, type KernelOptions } from "@svc/kernel";
import { definePlugin, type Plugin, type PluginContext, type Store } from "@svc/sdk";
import { createMemoryStore } from "@svc/sdk/testing";
import { afterEach, describe, expect, it } from "vitest";
import { ROOT, read } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";

const open: Kernel[] = [];
afterEach(async () => {
  for (const kernel of open.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

const CONFIG = { node: { id: "n1", name: "Node 1" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } } };

interface StoreParts extends Partial<Pick<Plugin, "config" | "capabilities" | "default">> {
  setup?(ctx: PluginContext<never>): void;
}

/** A store of the test's own, in memory, that says what becomes of it. */
function storePlugin(name: string, { setup, capabilities = [], ...more }: StoreParts = {}) {
  const heard: string[] = [];
  const owners = new Map<string, Store>();
  const plugin = definePlugin({
    kind: "store",
    name,
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities,
    ...more,
    setup(ctx) {
      heard.push("set up");
      setup?.(ctx as never);
      ctx.provide.store({
        name,
        open({ folder, now }) {
          heard.push(`open ${folder ?? "in memory"}${now() > 0 ? "" : " at no time"}`);
          return {
            scope(owner) {
              const store = owners.get(owner) ?? createMemoryStore();
              owners.set(owner, store);
              return store;
            },
            close: async () => void heard.push("closed"),
          };
        },
      });
      return { start: async () => void heard.push("started"), stop: async () => void heard.push("stopped") };
    },
  }) as Plugin<never>;
  return { plugin, heard, owners };
}

/** A feature that says when it is set up and stopped. */
const witness = (heard: string[]) =>
  definePlugin({
    kind: "feature",
    name: "witness",
    version: "1.0.0",
    svc: "^0.1.0",
    capabilities: ["store"],
    setup(ctx) {
      heard.push("feature set up");
      ctx.store.collection("own");
      return { stop: async () => void heard.push("feature stopped") };
    },
  }) as Plugin<never>;

async function kernelWith(plugins: readonly Plugin<never>[], config: object = {}, options: Partial<KernelOptions> = {}): Promise<Kernel> {
  const all = [scriptedTier().plugin as Plugin<never>, ...plugins];
  const kernel = await createKernel({ config: { ...CONFIG, ...config }, folder: await temporaryFolder(), plugins: all, ...options });
  open.push(kernel);
  return kernel;
}

const stores = (kernel: Kernel) => kernel.health().plugins.filter(({ id }) => id.startsWith("store-"));
const run = (kernel: Kernel, text: string) => kernel.tasks.run({ entry: "task", channel: "app", chat: "1", text, agent: "a" });

describe("the plugin that keeps the state", () => {
  it("is the default one where a program names none: it need only be installed beside the kernel", async () => {
    const kernel = await kernelWith([]);
    await kernel.start();
    expect(await run(kernel, "hello")).toMatchObject({ ok: true });
    expect(stores(kernel)).toMatchObject([{ id: "store-sqlite", state: "running", provides: ["store sqlite"], source: "first-party" }]);
  });

  it("is set up before all others and stopped after them, when its store is closed", async () => {
    const { plugin, heard, owners } = storePlugin("acme");
    const kernel = await kernelWith([witness(heard), plugin]);
    await kernel.start();
    expect(await run(kernel, "hello")).toMatchObject({ ok: true });
    expect(stores(kernel)).toMatchObject([
      { id: "store-acme", state: "running" },
      { id: "store-sqlite", state: "known" },
    ]);
    expect([...owners.keys()]).toEqual(expect.arrayContaining(["core", "feature-witness"]));
    await kernel.stop();
    expect(heard).toEqual(["set up", "open in memory", "feature set up", "started", "feature stopped", "closed", "stopped"]);
    await kernel.start();
    expect((await kernel.traces.list()).map(({ message }) => message)).toEqual(["hello"]);
  });

  it("gets the data folder, which is there", async () => {
    const folder = await temporaryFolder();
    const { plugin, heard } = storePlugin("acme");
    const kernel = await kernelWith([plugin], {}, { dataFolder: join(folder, "data") });
    await kernel.start();
    expect(heard).toContain(`open ${join(folder, "data")}`);
    expect(readdirSync(join(folder, "data"))).not.toContain("svc.db");
  });

  it("is asked for by its section, which a change of waits for a restart", async () => {
    const schema = { type: "object", required: ["url"], properties: { url: { type: "string" } } } as const;
    const urls: unknown[] = [];
    const make = () => storePlugin("acme", { config: { at: "store", schema }, setup: (ctx) => void urls.push((ctx.config as { url: string }).url) });
    const without = await kernelWith([make().plugin]);
    await without.start();
    expect(stores(without)).toMatchObject([
      { id: "store-acme", state: "known" },
      { id: "store-sqlite", state: "running" },
    ]);
    expect(urls).toEqual([]);

    const folder = await temporaryFolder();
    const file = join(folder, "svc.json");
    const write = (more: object) => writeFileSync(file, JSON.stringify({ ...CONFIG, ...more }));
    write({ store: { url: "acme://one" } });
    const { plugin, heard } = make();
    const kernel = await createKernel({ config: file, plugins: [scriptedTier().plugin as Plugin<never>, plugin] });
    open.push(kernel);
    await kernel.start();
    write({ store: { url: "acme://two" } });
    expect(await kernel.reload()).toMatchObject({ restartRequired: ["store.url"], failed: [] });
    write({});
    expect(await kernel.reload()).toMatchObject({
      failed: [{ plugin: "store-sqlite", reason: expect.stringContaining("store-acme keeps the state until the daemon is restarted") }],
    });
    expect([urls, heard]).toEqual([["acme://one"], ["set up", `open ${join(folder, ".svc")}`, "started"]]);
    expect(await run(kernel, "still here")).toMatchObject({ ok: true });
  });

  it("SVC_STORE_NONE says what to do where there is none, and why one does not run", async () => {
    const off = await kernelWith([], { plugins: ["!store-sqlite"] });
    await expect(off.start()).rejects.toMatchObject({
      code: "SVC_STORE_NONE",
      message: expect.stringContaining('take "!store-sqlite" out of plugins'),
    });
    const schema = { type: "object", properties: { url: { type: "string" } } } as const;
    const wrong = await kernelWith([storePlugin("acme", { config: { at: "store", schema } }).plugin], { store: { url: 5 } });
    await expect(wrong.start()).rejects.toMatchObject({ code: "SVC_STORE_NONE", message: expect.stringMatching(/store-acme does not run: .*store\.url/) });
    const throwing = storePlugin("acme", {
      setup() {
        throw new Error("no far end");
      },
    });
    await expect((await kernelWith([throwing.plugin])).start()).rejects.toMatchObject({
      code: "SVC_STORE_NONE",
      message: expect.stringContaining("no far end"),
    });
    const silent = definePlugin({ kind: "store", name: "silent", version: "1.0.0", svc: "^0.1.0", capabilities: [], setup() {} }) as Plugin<never>;
    await expect((await kernelWith([silent])).start()).rejects.toMatchObject({
      message: expect.stringContaining("store-silent provided no store in its setup"),
    });
  });

  it("SVC_STORE_SEVERAL names both where two are asked for, or two are the default one", async () => {
    for (const more of [{}, { default: true as const }]) {
      const kernel = await kernelWith([storePlugin("one", more).plugin, storePlugin("two", more).plugin]);
      await expect(kernel.start()).rejects.toMatchObject({
        code: "SVC_STORE_SEVERAL",
        message: expect.stringMatching(/store-one and store-two.*"!store-two"/),
      });
    }
    const kernel = await kernelWith([storePlugin("one").plugin, storePlugin("two").plugin], { plugins: ["!store-two"] });
    await kernel.start();
    expect(stores(kernel).map(({ state }) => state)).toEqual(["running", "disabled", "known"]);
  });

  it("what its open throws ends the start, and it is stopped", async () => {
    const { plugin, heard } = storePlugin("acme", {
      setup(ctx) {
        ctx.provide.store({ name: "first", open: () => Promise.reject(Object.assign(new Error("the server is away"), { code: "SVC_STORE_BUSY" })) });
      },
    });
    const kernel = await kernelWith([plugin]);
    await expect(kernel.start()).rejects.toMatchObject({ code: "SVC_STORE_NONE", message: expect.stringContaining("provides one store") });
    const away = definePlugin({
      kind: "store",
      name: "away",
      version: "1.0.0",
      svc: "^0.1.0",
      capabilities: [],
      setup(ctx) {
        ctx.provide.store({ name: "away", open: () => Promise.reject(Object.assign(new Error("the server is away"), { code: "SVC_STORE_BUSY" })) });
        return { stop: async () => void heard.push("stopped") };
      },
    }) as Plugin<never>;
    const second = await kernelWith([away]);
    await expect(second.start()).rejects.toMatchObject({ code: "SVC_STORE_BUSY", message: "the server is away" });
    expect([second.health().state, heard]).toEqual(["stopped", ["set up", "stopped"]]);
  });

  it.each([
    ["store", (ctx: PluginContext<never>) => ctx.store.collection("x")],
    ["tasks", (ctx: PluginContext<never>) => ctx.tasks.running()],
    ["a hook", (ctx: PluginContext<never>) => ctx.hooks.inbound.tap(((message: unknown) => message) as never)],
    ["a tool", (ctx: PluginContext<never>) => ctx.provide.tool({ name: "x", description: "x", input: { type: "object" }, run: async () => "" })],
  ])("cannot have what stands on the state: %s", async (_what, use) => {
    const { plugin } = storePlugin("acme", { capabilities: ["store", "tasks", "env:ACME_URL"], setup: (ctx) => void use(ctx) });
    await expect((await kernelWith([plugin])).start()).rejects.toMatchObject({
      code: "SVC_STORE_NONE",
      message: expect.stringContaining("its kind is store, which"),
    });
  });

  it("may read a variable that it declares", async () => {
    const read: unknown[] = [];
    const { plugin } = storePlugin("acme", { capabilities: ["env:ACME_URL"], setup: (ctx) => void read.push(ctx.env("ACME_URL")) });
    await (await kernelWith([plugin], {}, { env: { ACME_URL: "acme://env" } })).start();
    expect(read).toEqual(["acme://env"]);
  });

  it("is not asked where the program hands a store over", async () => {
    const { plugin, heard } = storePlugin("acme");
    const kernel = await kernelWith([plugin], {}, { store: { scope: () => createMemoryStore() } });
    await kernel.start();
    expect([stores(kernel).map(({ state }) => state), heard]).toEqual([["known"], []]);
  });
});

it("AUT-4 a kernel that is installed without a store says so, and runs with a store of the program's own", async () => {
  const modules = join(await temporaryFolder(), "node_modules");
  mkdirSync(join(modules, "@svc"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "@svc" && !name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  symlinkSync(join(ROOT, "sdk"), join(modules, "@svc/sdk"));
  const { files } = JSON.parse(read("kernel/package.json")) as { files: string[] };
  for (const path of ["package.json", ...files.filter((one) => !one.startsWith("!"))])
    cpSync(join(ROOT, "kernel", path), join(modules, "@svc/kernel", path), { recursive: true });
  const alone = (await import(join(modules, "@svc/kernel/dist/index.js"))) as { createKernel: typeof createKernel };
  const config = { node: { id: "n1", name: "Node 1" } };
  const kernel = await alone.createKernel({ config });
  await expect(kernel.start()).rejects.toMatchObject({
    code: "SVC_STORE_NONE",
    message: expect.stringContaining("install @svc/store-sqlite beside the kernel"),
  });
  const own = await alone.createKernel({ config, store: { scope: () => createMemoryStore() } });
  await own.start();
  expect(own.health()).toMatchObject({ state: "running", plugins: [] });
  await own.stop();
});
