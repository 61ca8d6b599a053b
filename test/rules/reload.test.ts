import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { definePlugin, type Plugin } from "@svc/sdk";
import { afterEach, describe, expect, it, vi } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const kernels: Kernel[] = [];
afterEach(async () => {
  for (const kernel of kernels.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

/** A plugin that owns the section `acme` and notes its life. */
function acme(life: string[], reload = false): Plugin<never> {
  return definePlugin<{ greeting: string }>({
    kind: "feature",
    name: "acme",
    version: "1.0.0",
    svc: "*",
    config: {
      at: "acme",
      schema: {
        type: "object",
        additionalProperties: false,
        properties: { greeting: { type: "string", default: "hi" }, retries: { type: "integer", minimum: 1, maximum: 5 } },
      },
    },
    capabilities: [],
    setup(ctx) {
      life.push(`setup ${ctx.config.greeting}`);
      return {
        start: async () => void life.push("start"),
        stop: async () => void life.push("stop"),
        ...(reload ? { reload: async (config: { greeting: string }) => void life.push(`reload ${config.greeting}`) } : {}),
      };
    },
  }) as unknown as Plugin<never>;
}

async function setUp(section: unknown, plugins: Plugin<never>[]) {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  const write = (acmeSection: unknown, rest: object = {}) =>
    writeFileSync(
      file,
      JSON.stringify({ node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } }, acme: acmeSection, ...rest }, null, 2),
    );
  write(section);
  const tier = scriptedTier();
  const open = async () => {
    const kernel = await createTestKernel({ config: file, plugins: [tier.plugin as Plugin<never>, ...plugins] });
    await kernel.start();
    kernels.push(kernel);
    return kernel;
  };
  const stateOf = (kernel: Kernel) => kernel.health().plugins.find(({ id }) => id === "feature-acme");
  const ask = (kernel: Kernel, text: string) => kernel.tasks.run({ entry: "task", channel: "http", chat: "1", text, agent: "a" });
  return { file, write, open, stateOf, ask, tier };
}

describe("reload", () => {
  it("a bad key in a plugin's section fails that plugin alone, live and at the next start alike, and mending it brings it back", async () => {
    const life: string[] = [];
    const { write, open, stateOf, ask } = await setUp({ greeting: "hello" }, [acme(life)]);
    const kernel = await open();
    expect(stateOf(kernel)?.state).toBe("running");

    write({ greeting: "hello", retries: 9 });
    const report = await kernel.reload();
    expect(report).toMatchObject({ reloaded: true, failed: [{ plugin: "feature-acme", reason: expect.stringMatching(/\d+:\d+ acme\.retries: /) }] });
    expect(stateOf(kernel)).toMatchObject({ state: "failed", reason: expect.stringContaining("acme.retries") });
    expect((await ask(kernel, "still here")).ok).toBe(true);
    expect(life).toEqual(["setup hello", "start", "stop"]);

    const second = await (async () => {
      await kernel.stop();
      return open();
    })();
    expect(stateOf(second)).toMatchObject({ state: "failed", reason: expect.stringContaining("acme.retries") });
    expect((await ask(second, "also here")).ok).toBe(true);

    write({ greeting: "back", retries: 2 });
    expect((await second.reload()).failed).toEqual([]);
    expect(stateOf(second)?.state).toBe("running");
    expect(life.slice(-2)).toEqual(["setup back", "start"]);
  });

  it("a plugin takes a new section in place when it can, else it is stopped and set up again; an unchanged one is left alone", async () => {
    const life: string[] = [];
    const inPlace = await setUp({ greeting: "one" }, [acme(life, true)]);
    const kernel = await inPlace.open();
    inPlace.write({ greeting: "two" });
    await kernel.reload();
    await kernel.reload();
    expect(life).toEqual(["setup one", "start", "reload two"]);

    const anew: string[] = [];
    const other = await setUp({ greeting: "one" }, [acme(anew)]);
    const second = await other.open();
    other.write({ greeting: "two" });
    await second.reload();
    expect(anew).toEqual(["setup one", "start", "stop", "setup two", "start"]);
  });

  it("what the report calls changed is what a plugin hears of: another order of keys is no change", async () => {
    const life: string[] = [];
    const { write, open } = await setUp({ greeting: "one", retries: 2 }, [acme(life)]);
    const kernel = await open();
    for (const same of [
      { retries: 2, greeting: "one" },
      { greeting: "one", retries: 2.0 },
    ]) {
      write(same);
      expect((await kernel.reload()).changed).toEqual([]);
    }
    expect(life).toEqual(["setup one", "start"]);
    write({ retries: 3, greeting: "one" });
    expect((await kernel.reload()).changed).toEqual(["acme.retries"]);
    expect(life).toEqual(["setup one", "start", "stop", "setup one", "start"]);
  });

  it("CFG-10 a broken document keeps the running configuration, its tasks and its queue", async () => {
    const { file, open, ask, tier } = await setUp({}, [acme([])]);
    const kernel = await open();
    const running = ask(kernel, "hold");
    await vi.waitFor(() => expect(tier.held).toBe(1));
    const before = readFileSync(file, "utf8");
    for (const broken of ['{ "node": ', before.replace('"tier": "scripted"', '"tier": "scripted", "maxConcurrent": 0')]) {
      writeFileSync(file, broken);
      await expect(kernel.reload()).rejects.toMatchObject({ status: 400 });
    }
    await expect(kernel.reload()).rejects.toMatchObject({ code: "SVC_CONFIG_INVALID", path: "agents.a.maxConcurrent" });
    tier.release();
    expect((await running).ok).toBe(true);
    expect((await ask(kernel, "fine")).ok).toBe(true);
  });

  it("CFG-09 says which changes wait for a restart, and an agent that is added works at once", async () => {
    const { write, open } = await setUp({}, [acme([])]);
    const kernel = await open();
    write(
      {},
      {
        node: { id: "n", name: "Renamed" },
        agents: { a: { name: "A", workspace: "./w", tier: "scripted", model: "m2" }, b: { name: "B", workspace: "./w", tier: "scripted" } },
      },
    );
    const report = await kernel.reload();
    expect(report.changed).toEqual(expect.arrayContaining(["node.name", "agents.a.model", "agents.b"]));
    expect([...report.restartRequired].sort()).toEqual(["agents.a.model", "node.name"]);
    expect((await kernel.tasks.run({ entry: "task", channel: "http", chat: "1", text: "hello", agent: "b" })).ok).toBe(true);
  });
});
