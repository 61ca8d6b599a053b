import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { PluginStatus } from "@svc/kernel";
import { SDK_VERSION } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { pluginFolders, ROOT } from "../house/house.ts";
import { temporaryFolder } from "../kit/kernel.ts";
import { packPackage } from "../kit/pack.ts";
import { echoConfig } from "../kit/svc.ts";

const ELDER = join(ROOT, "test/publish/fixtures/plugin-0.1.0");

/** This program installed as npm would, once. */
let modules: string;
beforeAll(() => {
  modules = join(mkdtempSync(join(tmpdir(), "svc-versions-")), "node_modules");
  mkdirSync(join(modules, "@svc"), { recursive: true });
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== "@svc" && !name.startsWith(".")) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  const ours = [["sdk", "sdk"], ["kernel", "kernel"], ["cli", "cli"], ...pluginFolders().map(({ path, pkg }) => [path, pkg.name.slice("@svc/".length)])];
  for (const [from, to] of ours as [string, string][]) cpSync(join(ROOT, from), join(modules, "@svc", to), { recursive: true });
});
afterAll(() => rmSync(dirname(modules), { recursive: true, force: true, maxRetries: 5 }));

/** Its sdk calls itself by another version from now on, and else is the same. Answers the program. */
function installationWith(version: string): string {
  const text = readFileSync(join(ROOT, "sdk/dist/plugin.js"), "utf8");
  writeFileSync(join(modules, "@svc/sdk/dist/plugin.js"), text.replace(`SDK_VERSION = "${SDK_VERSION}"`, `SDK_VERSION = "${version}"`));
  const pkg = join(modules, "@svc/sdk/package.json");
  writeFileSync(pkg, JSON.stringify({ ...JSON.parse(readFileSync(pkg, "utf8")), version }));
  return join(modules, "@svc/cli/bin/svc.cjs");
}

const [major = 0, minor = 0] = SDK_VERSION.split(".").map(Number);

describe.each([`${major}.${minor + 1}.0`, `${major + 1}.0.0`])("under an sdk %s of the same generation", (version) => {
  it("AUT-A1 every plugin of this version loads, added and first-party ones, and a packed one is added without a word of npm", async () => {
    const program = installationWith(version);
    const folder = await temporaryFolder();
    const svc = (...args: string[]) =>
      spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8", env: { ...process.env, SVC_CONFIG: "" } });
    writeFileSync(join(folder, "svc.json"), JSON.stringify(echoConfig({}, { elder: { enabled: true } })));
    packPackage(ELDER, folder);
    const { status, stderr, stdout } = svc("plugin", "add", "./svc-plugin-elder-1.0.0.tgz", "--yes");
    expect({ status, said: status === 0 ? "" : stderr + stdout }).toEqual({ status: 0, said: "" });
    expect(svc("daemon", "start")).toMatchObject({ status: 0 });
    try {
      const { plugins } = JSON.parse(svc("daemon", "status", "--plugins", "--json").stdout) as { plugins: PluginStatus[] };
      expect(plugins.filter(({ state }) => state === "failed")).toEqual([]);
      expect(plugins.find(({ id }) => id === "feature-elder")).toMatchObject({ state: "running", source: "package" });
      expect(plugins.filter(({ state, source }) => state === "running" && source === "first-party").length).toBeGreaterThan(5);
    } finally {
      svc("daemon", "stop");
    }
  });
});
