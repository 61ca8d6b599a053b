import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { changedDependencies, dependenciesOf } from "./dependencies.ts";

let folder: string;
const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};
const PLUGIN = "root/node_modules/svc-plugin-good";
const now = () => dependenciesOf(join(folder, PLUGIN));

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-dependencies-"));
  write(`${PLUGIN}/package.json`, JSON.stringify({ name: "svc-plugin-good", dependencies: { dep: "1.0.0" }, peerDependencies: { "@svc/sdk": "*" } }));
  write("root/node_modules/dep/package.json", JSON.stringify({ name: "dep", version: "1.0.0" }));
  write("root/node_modules/dep/index.js", "");
  write("daemon/sdk/package.json", JSON.stringify({ name: "@svc/sdk", version: "0.1.0" }));
  mkdirSync(join(folder, "root/node_modules/@svc"));
  symlinkSync("../../../daemon/sdk", join(folder, "root/node_modules/@svc/sdk"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe("what an installed plugin is made of", () => {
  it("AUT-B2 is what Node finds for it; the sdk, which the daemon brings, is none of it", async () => {
    expect(Object.keys(await now())).toEqual(["dep@1.0.0"]);
    // What npm keeps for itself, and a link that leads nowhere.
    write(`${PLUGIN}/node_modules/.package-lock.json`, "{}");
    symlinkSync("nowhere", join(folder, `${PLUGIN}/node_modules/gone`));
    expect(Object.keys(await now())).toEqual(["dep@1.0.0"]);
  });

  it.each([
    ["a bare folder before a dependency", `${PLUGIN}/node_modules/dep/index.js`],
    ["a bare file before a dependency", `${PLUGIN}/node_modules/dep.js`],
    ["a bare file beside a dependency", "root/node_modules/dep.js"],
    ["a bare folder of another name", `${PLUGIN}/node_modules/other/index.js`],
    ["a bare folder of a scope", `${PLUGIN}/node_modules/@a/b/index.js`],
    ["a bare folder in place of the sdk", `${PLUGIN}/node_modules/@svc/sdk/index.js`],
  ])("AUT-B2 %s, which Node would take, is a change", async (_what, path) => {
    const before = await now();
    write(path, "console.log('I run')");
    expect(changedDependencies(before, await now())).not.toEqual([]);
    const between = await now();
    write(path, "console.log('I run, too')");
    expect(changedDependencies(between, await now())).not.toEqual([]);
  });

  it("AUT-B2 an sdk of its own counts as any package", async () => {
    const before = await now();
    write(`${PLUGIN}/node_modules/@svc/sdk/package.json`, JSON.stringify({ name: "@svc/sdk", version: "0.1.0", main: "i.js" }));
    write(`${PLUGIN}/node_modules/@svc/sdk/i.js`, "console.log('I run')");
    expect(changedDependencies(before, await now())).toEqual(["@svc/sdk@0.1.0"]);
  });
});
