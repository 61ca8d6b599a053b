import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { API_FLOOR, API_GENERATION, type Plugin } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import { ROOT } from "../house/house.ts";
import { baseOf, runKernel, temporaryFolder } from "../kit/kernel.ts";

const ELDER = join(ROOT, "test/publish/fixtures/plugin-0.1.0");
const elder = (config: object, options: object = {}) => runKernel({ folder: ROOT, config: { plugins: [ELDER], ...config }, listen: true, ...options });

describe("a compiled plugin built against an earlier sdk", () => {
  it("loads, rejects, adds context, stores, runs its action and serves its route", async () => {
    const { kernel, tier, message, events } = await elder({ elder: { enabled: true, greeting: "good day" } });
    expect(kernel.health().plugins.find(({ id }) => id === "feature-elder")).toMatchObject({ state: "running", failures: 0, version: "1.0.0" });
    expect(await kernel.tasks.run(message("hello"))).toMatchObject({ ok: true });
    expect(tier.turns[0]?.context.layers).toContainEqual(expect.objectContaining({ name: "elder", text: "good day" }));
    expect(await kernel.tasks.run(message("refuse me"))).toMatchObject({ ok: false, error: expect.stringContaining("the elder says no") });
    expect(events).toContainEqual(expect.objectContaining({ type: "elder" }));
    expect(await (await fetch(`${baseOf(kernel)}/elder`)).json()).toMatchObject({ seen: 2 });
  });
});

describe("a route that cannot be served", () => {
  const plugin = (name: string, route: object) =>
    ({
      kind: "feature",
      name,
      version: "1.0.0",
      svc: "*",
      capabilities: ["routes"],
      setup: (ctx: { provide: { route(route: object): void } }) => ctx.provide.route({ method: "GET", guard: "open", handle: () => name, ...route }),
    }) as unknown as Plugin<never>;
  const stateOf = (kernel: Kernel, id: string) => kernel.health().plugins.find((one) => one.id === id);

  it.each([
    ["is the kernel's own", { path: "/health" }, /GET \/health .*the kernel/],
    ["is the kernel's own but for the name of a parameter", { path: "/traces/:trace" }, /the kernel/],
    ["has no guard that exists", { path: "/x", guard: "everybody" }, /guard 'everybody' does not exist/],
    ["has no path", { path: "x" }, /its path must be/],
  ])("AUT-B7 fails its plugin where it %s", async (_what, route, reason) => {
    const { kernel } = await runKernel({ inline: [plugin("clash", route)], listen: true });
    expect(stateOf(kernel, "feature-clash")).toMatchObject({ state: "failed", reason: expect.stringMatching(reason) });
    expect(((await (await fetch(`${baseOf(kernel)}/health`)).json()) as { ok: boolean }).ok).toBe(true);
  });

  it("AUT-B7 fails the later of two plugins, also where only a parameter is called otherwise", async () => {
    const { kernel } = await runKernel({ inline: [plugin("one", { path: "/things/:id" }), plugin("two", { path: "/things/:name" })], listen: true });
    expect(stateOf(kernel, "feature-one")).toMatchObject({ state: "running" });
    expect(stateOf(kernel, "feature-two")).toMatchObject({ state: "failed", reason: expect.stringContaining("feature-one") });
    expect(await (await fetch(`${baseOf(kernel)}/things/1`)).json()).toBe("one");
  });
});

describe("what an added plugin sees", () => {
  it("is its own section and the variables it declared, and no other", async () => {
    const { kernel } = await elder(
      { elder: { enabled: true, secret: "elders-own" }, providers: { anthropic: { apiKey: "sk-canary-1" } } },
      { env: { ELDER_NAME: "Ada", OTHER_SECRET: "canary-2" } },
    );
    const seen = await (await fetch(`${baseOf(kernel)}/elder`)).text();
    expect(JSON.parse(seen)).toMatchObject({ name: "Ada", config: { secret: "elders-own", greeting: "hello" } });
    expect(seen).not.toContain("canary");
  });

  it.each([
    ["reads a section of the kernel", 'config: { at: "providers" },', "", "must bring a schema"],
    ["claims a section of the kernel", 'config: { at: "session", schema: { type: "object" } },', "", "belongs to the kernel"],
    ["asks for a variable that it did not declare", "", 'ctx.env("OTHER_SECRET");', "env:OTHER_SECRET"],
    ["touches a capability that it did not declare", "", "ctx.store;", "'store'"],
  ])("a plugin that %s does not run", async (_what, config, setup, reason) => {
    const folder = await temporaryFolder();
    writeFileSync(
      join(folder, "nosy.mjs"),
      `export default { kind: "feature", name: "nosy", version: "1.0.0", svc: "*", capabilities: [], ${config} setup(ctx) { ${setup} } };`,
    );
    const { kernel } = await runKernel({
      folder,
      config: { plugins: ["./nosy.mjs"], providers: { anthropic: { apiKey: "sk-canary-1" } } },
      env: { OTHER_SECRET: "canary-2" },
    });
    const status = kernel.health().plugins.find(({ id }) => id.startsWith("feature-"));
    expect(status).toMatchObject({ state: "failed", reason: expect.stringContaining(reason) });
    expect(JSON.stringify(kernel.health())).not.toContain("canary");
  });
});

describe("a plugin by its path", () => {
  it("may be TypeScript: a single file, or a folder with a manifest", async () => {
    const folder = await temporaryFolder();
    const source = (name: string) => `interface Words { readonly text: string }
const shout = ({ text }: Words): string => text.toUpperCase();
export default {
  kind: "feature" as const, name: "${name}", version: "1.0.0", svc: "^0.1.0", capabilities: [],
  setup(ctx: { hooks: { assembleContext: { tap(run: (context: { prompt: string }) => object): void } } }): void {
    ctx.hooks.assembleContext.tap((context) => ({ ...context, prompt: \`\${shout({ text: context.prompt })} ${name}\` }));
  },
};
`;
    writeFileSync(join(folder, "file.ts"), source("one-file"));
    mkdirSync(join(folder, "whole"));
    const svc = { api: 1, kind: "feature", name: "whole-folder", entry: "./index.ts", activate: "always", capabilities: [] };
    writeFileSync(join(folder, "whole/package.json"), JSON.stringify({ name: "svc-plugin-whole", version: "1.0.0", type: "module", svc }));
    writeFileSync(join(folder, "whole/index.ts"), source("whole-folder"));
    const { kernel, tier, message } = await runKernel({ folder, config: { plugins: ["./file.ts", "./whole"] } });
    await kernel.tasks.run(message("loud"));
    expect(tier.prompts).toEqual(["LOUD ONE-FILE whole-folder"]);
  });
});

describe("the generation of the plugin API", () => {
  it.each([
    [API_FLOOR - 1, "failed"],
    [API_FLOOR, "running"],
    [API_GENERATION, "running"],
    [API_GENERATION + 1, "failed"],
    ["1", "failed"],
  ])("a manifest of generation %s is %s", async (api, state) => {
    const folder = await temporaryFolder();
    mkdirSync(join(folder, "aged"));
    const svc = { api, kind: "feature", name: "aged", entry: "./index.mjs", activate: "always", capabilities: [] };
    writeFileSync(join(folder, "aged/package.json"), JSON.stringify({ name: "svc-plugin-aged", version: "1.0.0", svc }));
    writeFileSync(
      join(folder, "aged/index.mjs"),
      'export default { kind: "feature", name: "aged", version: "1.0.0", svc: "*", capabilities: [], setup() {} };',
    );
    const { kernel } = await runKernel({ folder, config: { plugins: ["./aged"] } });
    const status = kernel.health().plugins.find(({ id, source }) => source !== "inline" && id !== "store-postgres");
    expect(status?.state).toBe(state);
    if (state === "failed") expect(status?.reason).toContain("generation");
  });
});
