import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bundleIn } from "./bundle.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-bundle-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const registry = "http://127.0.0.1:4873/";
const write = (plugins: unknown, name = "svc-plugin-bundle") =>
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, version: "1.0.0", svcBundle: { registry, plugins, platform: "linux-x64" } }));

it("reads the plugins of a bundle; any other package is none", () => {
  const plugins = ["@svc/channel-botmsg@0.1.0", "plain.name@1.2.3-rc.1+build"];
  write(plugins);
  expect(bundleIn(folder)).toEqual({ plugins, platform: "linux-x64", source: { cache: join(folder, "cache"), registry } });
  write(plugins, "other");
  expect(bundleIn(folder)).toBeUndefined();
});

it.each([
  "@svc/channel-botmsg",
  "a@latest",
  "a@^1.0.0",
  "a@npm:b@1.0.0",
  "a@file:../../etc",
  "a@https://evil.example/x.tgz",
  "https://evil.example/x.tgz",
  "git+ssh://evil.example/x.git",
  "github:evil/x@1.0.0",
  "/etc",
  "../x@1.0.0",
  "--registry=http://evil.example",
  "-g@1.0.0",
  "a@1.0.0 b@2.0.0",
  "a@1.0.0\n--global",
  "",
  7,
  null,
  ["a@1.0.0"],
])("refuses a bundle with the entry %j beside a good one", (entry) => {
  write(["@svc/channel-botmsg@0.1.0", entry]);
  expect(() => bundleIn(folder)).toThrow(expect.objectContaining({ code: "SVC_CLI_PLUGIN_LOOK", message: expect.stringContaining("make the file again") }));
});

it.each([undefined, null, "a@1.0.0", { 0: "a@1.0.0" }])("refuses a bundle whose list is %j", (plugins) => {
  write(plugins);
  expect(() => bundleIn(folder)).toThrow(expect.objectContaining({ code: "SVC_CLI_PLUGIN_LOOK" }));
});
