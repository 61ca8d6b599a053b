import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "@svc/sdk";
import { tortureContract } from "@svc/sdk/testing";
import { describe, it } from "vitest";
import { pluginFolders, ROOT } from "../house/house.ts";

async function sampleOf(folder: string, plugin: Plugin<never>): Promise<unknown> {
  const file = join(folder, "sample.json");
  if (plugin.config === undefined || !existsSync(file)) return {};
  const whole: unknown = JSON.parse(await readFile(file, "utf8"));
  return plugin.config.at.split(".").reduce((at, key) => (at as Record<string, unknown> | undefined)?.[key], whole) ?? {};
}

/** Variables that samples name: what is refused without one is not what is looked at here. */
const env = { WACLI_WEBHOOK_SECRET: "the-secret-of-the-sync-tool" };

for (const { path } of pluginFolders()) {
  const folder = join(ROOT, path);
  // As it is built: a part that it loads on demand is not compiled first, which takes seconds on a busy machine.
  const { default: plugin } = (await import(join(folder, "dist/index.js"))) as { default: Plugin<never> };
  const config = await sampleOf(folder, plugin);
  describe(`${plugin.kind}-${plugin.name}`, () =>
    tortureContract({ describe, it: (name, run) => it(name, { timeout: 60_000 }, run) }, { plugin, config, fake: { env } }));
}
