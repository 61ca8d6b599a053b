import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Kernel } from "@svc/kernel";
import { type Capability, definePlugin, type Plugin, type PluginContext } from "@svc/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { scriptedTier } from "../kit/scripted.ts";
import { createTestKernel } from "../kit/test-kernel.ts";

const SECRET = "CANARY-preview-secret-0001";
const by = "the test";
const TEXT = `{
  "node": { "id": "n", "name": "N" },
  "agents": {
    "a": { "name": "A", "workspace": "./w", "tier": "scripted" }
  },
  "acme": {
    "token": "${SECRET}",
    "odd": "${SECRET}-odd",
    "count": 3
  }
}
`;

const schema = {
  type: "object",
  properties: {
    token: { type: "string", secret: true },
    odd: { type: "string", secret: true },
    count: { type: "integer", minimum: 1, maximum: 9 },
    port: { type: "integer", restart: true },
  },
} as const;

const OFFERED = ["acme", "other"].map((name) => ({ kind: "feature", name, package: `@svc/feature-${name}`, summary: "does it", bytes: 7 }));

const kernels: Kernel[] = [];
afterEach(async () => {
  for (const kernel of kernels.splice(0)) await kernel.stop({ drainSeconds: 0 });
});

async function running(capabilities: Capability[] = ["settings", "all-settings"]) {
  const folder = await temporaryFolder();
  const file = join(folder, "svc.json");
  writeFileSync(file, TEXT, { mode: 0o640 });
  const seen: unknown[] = [];
  let context: PluginContext | undefined;
  const acme = definePlugin<object>({
    kind: "feature",
    name: "acme",
    version: "1.0.0",
    svc: "*",
    config: { at: "acme", schema },
    capabilities,
    setup(ctx) {
      context = ctx as PluginContext;
      seen.push(ctx.config);
      return { reload: async (config) => void seen.push(config) };
    },
  }) as unknown as Plugin<never>;
  const kernel = await createTestKernel({ config: file, plugins: [scriptedTier().plugin as Plugin<never>, acme], offered: () => OFFERED });
  await kernel.start();
  kernels.push(kernel);
  const { settings } = context as PluginContext;
  return { folder, file, settings, seen, text: () => readFileSync(file, "utf8") };
}

const code = (wanted: string) => expect.objectContaining({ code: wanted });

describe("a change that is tried first", () => {
  it("CFG-07 shows problems with their place, lines and restarts, and writes nothing", async () => {
    const { folder, settings, text } = await running();
    const { revision } = await settings.read();
    const good = await settings.preview(
      [
        { path: ["acme", "count"], value: 4 },
        { path: ["acme", "port"], value: 1 },
      ],
      { expect: revision },
    );
    expect(good).toMatchObject({ revision, paths: ["acme.count", "acme.port"], restartRequired: ["acme.port"] });
    expect(good.problems.filter(({ fresh }) => fresh)).toEqual([]);
    const signs = good.difference.map(({ sign, text: line }) => `${sign}${line.trim()}`);
    expect(signs).toContain('-"count": 3');
    expect(signs).toContain('+"count": 4,');
    const bad = await settings.preview([{ path: ["acme", "count"], value: 99 }]);
    expect(bad.problems).toContainEqual(expect.objectContaining({ path: "acme.count", line: 9, severity: "error", fresh: true }));
    await expect(settings.preview([{ path: ["acme", "count"], value: 4 }], { expect: "another" })).rejects.toEqual(code("SVC_CONFIG_CHANGED"));
    await expect(settings.preview([{ path: ["acme", "odd"], value: "${HOME}" }])).rejects.toEqual(code("SVC_CONFIG_REFERENCE"));
    expect(text()).toBe(TEXT);
    expect(readdirSync(folder).filter((name) => name.includes("bak"))).toEqual([]);
  });

  it("CFG-05 neither the difference nor the text holds a credential, whatever its key is called", async () => {
    const { settings } = await running();
    const all = [await settings.read(), await settings.preview([{ path: ["acme", "odd"], value: "another-word" }])];
    expect(JSON.stringify(all)).not.toContain(SECRET);
    expect(all[0]).toMatchObject({ text: expect.stringContaining('"odd": "***"') });
    expect(JSON.stringify(all[1])).not.toContain("another-word");
  });
});

describe("a credential that moves to .env", () => {
  it("CFG-05 leaves only its name in svc.json, in a file for its owner alone, and is in force", async () => {
    const { folder, settings, seen, text } = await running();
    writeFileSync(join(folder, ".env"), "# mine\nOTHER=1\n", { mode: 0o644 });
    const report = await settings.keepSecret({ name: "ACME_PREVIEW_TOKEN", path: "acme.token" }, { by, backup: false });
    expect(report.reloadSkipped).toBeUndefined();
    expect(text()).toContain('"token": "${ACME_PREVIEW_TOKEN}"');
    expect(readFileSync(join(folder, ".env"), "utf8")).toBe(`# mine\nOTHER=1\nACME_PREVIEW_TOKEN=${SECRET}\n`);
    expect(statSync(join(folder, ".env")).mode & 0o777).toBe(0o600);
    await settings.keepSecret({ name: "ACME_PREVIEW_TOKEN", path: "acme.token", value: "a second value # with a sign" }, { by });
    expect(readFileSync(join(folder, ".env"), "utf8")).toBe("# mine\nOTHER=1\nACME_PREVIEW_TOKEN='a second value # with a sign'\n");
    expect(seen.at(-1)).toMatchObject({ token: "a second value # with a sign" });
  });

  it("refuses names by which programs take code, variables of the daemon's own environment, and values without a line", async () => {
    const { settings, text } = await running();
    for (const [name, value] of [
      ["NODE_OPTIONS", "--import=x"],
      ["LD_PRELOAD", "x"],
      ["PATH", "/x"],
      ["A B", "x"],
      ["FINE", "two\nlines"],
      ["FINE", ""],
    ] as const)
      await expect(settings.keepSecret({ name, path: "acme.token", value }, { by })).rejects.toEqual(code("SVC_CONFIG_VARIABLE"));
    await expect(settings.keepSecret({ name: "FINE", path: "acme.count" }, { by })).rejects.toEqual(code("SVC_CONFIG_VALUE"));
    expect(text()).toBe(TEXT);
  });
});

describe("plugins", () => {
  it("are told with their manifests and how they stand; one that is not in quarantine cannot leave it", async () => {
    const { settings } = await running();
    expect(await settings.plugins()).toContainEqual(expect.objectContaining({ id: "feature-acme", state: "running", channels: [], failures: 0 }));
    await expect(settings.release("feature-acme")).rejects.toEqual(code("SVC_SETTINGS_PLUGIN"));
  });

  it("that are not here are told as the program offers them, without those that are", async () => {
    const { settings } = await running();
    expect(await settings.offered()).toEqual([OFFERED[1]]);
  });

  it("are no business of a plugin that has its section only", async () => {
    const { settings } = await running(["settings"]);
    for (const call of [settings.plugins(), settings.offered(), settings.release("x"), settings.keepSecret({ name: "X", path: "acme.token" }, { by })])
      await expect(call).rejects.toEqual(code("SVC_SETTINGS_SECTION"));
    expect((await settings.preview([{ path: ["acme", "count"], value: 4 }])).difference).toEqual([]);
    expect((await settings.read()).text).toBeUndefined();
  });
});
