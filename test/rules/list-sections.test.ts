import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkConfiguration, configurationSchema, describeSetting, type Kernel, openEditor } from "@svc/kernel";
import { definePlugin, type Plugin } from "@svc/sdk";
import { createFakeContext } from "@svc/sdk/testing";
import { afterEach, expect, it } from "vitest";
import { measureLeaks } from "../../cli/plugin/leaks.ts";
import { sampleSection } from "../../cli/plugin/sample.ts";
import { hostileSections } from "../../sdk/testing/hostile.ts";
import { runIsolated } from "../faults/isolation.harness.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const schema = {
  type: "array",
  description: "who may call in",
  items: {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string", minLength: 1, description: "its name in the path" },
      secret: { type: "string", secret: true },
      retries: { type: "integer", minimum: 0, maximum: 5, default: 2 },
      port: { type: "integer", restart: true },
    },
  },
} as const;

interface Webhook {
  readonly id: string;
  readonly secret?: string;
  readonly retries: number;
}

const check = (hooks: readonly Webhook[]) =>
  hooks.flatMap(({ id }, at) =>
    hooks.findIndex((one) => one.id === id) < at ? [{ path: `[${at}].id`, message: "is there twice", severity: "error" as const }] : [],
  );

/** A plugin whose section is a list, and what it was given over time. */
function webhooks(seen: unknown[]): Plugin<never> {
  return definePlugin<readonly Webhook[]>({
    kind: "feature",
    name: "webhooks",
    version: "1.0.0",
    svc: "*",
    config: { at: "webhooks", schema, check },
    capabilities: [],
    setup(ctx) {
      seen.push(ctx.config);
      return { reload: async (config) => void seen.push(config) };
    },
  }) as unknown as Plugin<never>;
}

const kernels: Kernel[] = [];
afterEach(async () => {
  for (const kernel of kernels.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

const SECRET = "CANARY-hook-secret-000001";

async function started(hooks: unknown) {
  const seen: unknown[] = [];
  const file = join(await temporaryFolder(), "svc.json");
  const write = (section: unknown) =>
    writeFileSync(
      file,
      JSON.stringify({ node: { id: "n", name: "N" }, agents: { a: { name: "A", workspace: "./w", tier: "scripted" } }, webhooks: section }, null, 2),
      { mode: 0o600 },
    );
  write(hooks);
  const kernel = await createTestKernel({ config: file, plugins: [scriptedTier().plugin as Plugin<never>, webhooks(seen)] });
  kernels.push(kernel);
  await kernel.start();
  return { kernel, seen, write, status: () => kernel.health().plugins.find(({ id }) => id === "feature-webhooks") };
}

it("a section may be a list: the plugin gets its entries with their defaults, at the start and at a reload, and [] where it is empty", async () => {
  const { kernel, seen, write } = await started([
    { id: "one", secret: SECRET },
    { id: "two", retries: 0 },
  ]);
  expect(seen).toEqual([
    [
      { id: "one", secret: SECRET, retries: 2 },
      { id: "two", retries: 0 },
    ],
  ]);
  expect(Object.isFrozen((seen[0] as unknown[])[0])).toBe(true);
  write([]);
  await kernel.reload();
  expect(seen.at(-1)).toEqual([]);
});

it("a reload names what changed in a list by its entry, and a list of another length as a whole", async () => {
  const { kernel, write } = await started([{ id: "one", port: 1 }]);
  write([{ id: "one", port: 2, retries: 1 }]);
  expect((await kernel.reload()).changed.toSorted()).toEqual(["webhooks[0].port", "webhooks[0].retries"]);
  expect((await kernel.reload()).changed).toEqual([]);
  write([{ id: "one", port: 2 }, { id: "two" }]);
  const report = await kernel.reload();
  expect(report).toMatchObject({ changed: ["webhooks"], restartRequired: ["webhooks"] });
});

it("what is wrong with an entry fails the plugin alone, by its schema and by its own check", async () => {
  const { kernel, write, status } = await started([{ id: "one" }]);
  write([{ id: "one" }, { retries: 9 }]);
  await kernel.reload();
  expect(status()).toMatchObject({ state: "failed", reason: expect.stringContaining("webhooks[1].id: is required (its name in the path)") });
  expect(status()?.reason).toContain("webhooks[1].retries: must be from 0 to 5, is 9");
  write([{ id: "one" }, { id: "one" }]);
  await kernel.reload();
  expect(status()?.reason).toContain("webhooks[1].id: is there twice");
  write({ id: "one" });
  await kernel.reload();
  expect(status()?.reason).toContain("webhooks: must be a list [ ... ]");
  write([{ id: "one" }]);
  await kernel.reload();
  expect(status()).toMatchObject({ state: "running" });
});

/** A package with such a section, and a svc.json that names it. */
async function laid(section: unknown, activate = "section") {
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "hooks"));
  const svc = { api: 1, kind: "feature", name: "webhooks", entry: "./index.mjs", section: "webhooks", activate, capabilities: [] };
  writeFileSync(join(folder, "hooks/package.json"), JSON.stringify({ name: "svc-plugin-hooks", version: "1.0.0", type: "module", svc }));
  writeFileSync(
    join(folder, "hooks/index.mjs"),
    `export default { kind: "feature", name: "webhooks", version: "1.0.0", svc: "*", capabilities: [], config: { at: "webhooks", schema: ${JSON.stringify(schema)}, check: ${check} }, setup() {} };`,
  );
  const file = join(folder, "svc.json");
  const document = { node: { id: "n", name: "N" }, plugins: ["./hooks"], agents: {}, webhooks: section };
  writeFileSync(file, JSON.stringify(document, null, 2), { mode: 0o600 });
  return { file, dataFolder: join(folder, ".svc"), known: ["../../plugins/stores/sqlite"].map((path) => new URL(path, import.meta.url).pathname), env: {} };
}

it("config check names the place in the list with its line, and editing keeps the list and masks its secrets", async () => {
  const options = await laid([
    { id: "one", secret: SECRET },
    { id: "two", retries: -1 },
  ]);
  const { problems } = await checkConfiguration(options);
  expect(problems.filter(({ severity }) => severity === "error")).toMatchObject([
    { path: "webhooks[1].retries", line: 17, owner: "feature-webhooks", message: "must be from 0 to 5, is -1" },
  ]);
  const editor = await openEditor(options);
  editor.set("webhooks[1].retries", "3");
  editor.set("webhooks.2", '{"id": "three"}');
  await editor.save();
  expect(editor.get("webhooks")).toEqual([
    { id: "one", secret: "***", retries: 2 },
    { id: "two", retries: 3 },
    { id: "three", retries: 2 },
  ]);
  editor.set("webhooks[2].id", "one");
  await expect(editor.save()).rejects.toMatchObject({ code: "SVC_CONFIG_INVALID", message: expect.stringContaining("webhooks[2].id: is there twice") });
});

it("config describe knows a list and the keys of its entries", async () => {
  const root = await configurationSchema(await laid([]));
  expect(describeSetting(root, "webhooks").setting).toMatchObject({
    type: "a list of object",
    description: "who may call in",
    keys: expect.arrayContaining([{ key: "[0].id", description: "its name in the path" }, { key: "[0].secret" }]),
  });
  expect(describeSetting(root, "webhooks[0].retries").setting).toMatchObject({ default: 2, allowed: "0 to 5" });
});

it("a list has no switch: a manifest that says 'enabled' is refused with what to write", async () => {
  const { plugins } = await checkConfiguration(await laid([{ id: "one" }], "enabled"));
  expect(plugins.find(({ id }) => id === "feature-webhooks")).toMatchObject({ state: "failed", reason: expect.stringContaining('"activate": "section"') });
});

it("a list crosses to the process of an isolated plugin", async () => {
  const { act } = await runIsolated(
    [
      {
        name: "webhooks",
        plugin: `config: { at: "webhooks", schema: ${JSON.stringify(schema)} },`,
        manifest: { section: "webhooks", activate: "section" },
        setup: `const action = (name, run) => ctx.provide.action({ name, description: "For a test.", timeoutMs: 20000, input: { type: "object", additionalProperties: true }, output: {}, run });
          action("webhooks.read", async () => ({ list: Array.isArray(ctx.config), config: ctx.config }));`,
      },
    ],
    { config: { webhooks: [{ id: "one" }] } },
  );
  expect(await act("webhooks.read")).toEqual({ list: true, config: [{ id: "one", retries: 2 }] });
});

it("svc plugin check takes the sample of a list, and an empty list where there is none", async () => {
  const { file } = await laid([]);
  const folder = join(file, "../hooks");
  const pkg = { svc: { section: "webhooks" } } as never;
  expect(sampleSection(folder, pkg)).toBeUndefined();
  writeFileSync(join(folder, "sample.json"), '{"webhooks": [{"id": "one"}]}');
  expect(sampleSection(folder, pkg)).toEqual([{ id: "one" }]);
  const seen: unknown[] = [];
  await measureLeaks(webhooks(seen), undefined);
  await measureLeaks(webhooks(seen), [{ id: "one" }]);
  expect(new Set(seen.map((given) => JSON.stringify(given)))).toEqual(new Set(["[]", '[{"id":"one","retries":2}]']));
}, 60_000);

it("a plugin that runs without its section gets what the defaults make, at the start and after a reload that takes the section away", async () => {
  const seen: unknown[] = [];
  const always = definePlugin<object>({
    kind: "feature",
    name: "always",
    version: "1.0.0",
    svc: "*",
    config: {
      at: "always",
      schema: {
        type: "object",
        properties: {
          word: { type: "string", default: "hi" },
          digest: { type: "object", default: {}, properties: { enabled: { type: "boolean", default: false }, at: { type: "string" } } },
          none: { type: "object", properties: { x: { type: "integer", default: 1 } } },
        },
      },
    },
    capabilities: [],
    setup(ctx) {
      seen.push(ctx.config);
      return { reload: async (config) => void seen.push(config) };
    },
  }) as unknown as Plugin<never>;
  const folder = await temporaryFolder();
  mkdirSync(join(folder, "always"));
  const manifest = { api: 1, kind: "feature", name: "always", entry: "./index.mjs", section: "always", activate: "always", capabilities: [] };
  writeFileSync(join(folder, "always/package.json"), JSON.stringify({ name: "svc-plugin-always", version: "1.0.0", type: "module", svc: manifest }));
  writeFileSync(join(folder, "always/index.mjs"), "export default globalThis.alwaysOfTheTest;");
  Object.assign(globalThis, { alwaysOfTheTest: always });
  const file = join(folder, "svc.json");
  const write = (rest: object) =>
    writeFileSync(file, JSON.stringify({ node: { id: "n", name: "N" }, agents: {}, plugins: ["./always"], ...rest }), { mode: 0o600 });
  write({});
  const kernel = await createTestKernel({ config: file });
  kernels.push(kernel);
  await kernel.start();
  const defaults = { word: "hi", digest: { enabled: false } };
  write({ always: { word: "other" } });
  await kernel.reload();
  write({});
  await kernel.reload();
  expect(seen).toEqual([defaults, { ...defaults, word: "other" }, defaults]);
});

it("the fake context gives an empty list, and hostile texts reach each entry", () => {
  expect(createFakeContext(webhooks([]) as never).config).toEqual([]);
  const places = new Set([...hostileSections(schema, [{ id: "one" }])].map(({ at }) => at));
  expect([...places]).toEqual(["0.id"]);
});
