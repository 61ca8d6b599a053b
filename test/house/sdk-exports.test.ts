import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import * as sdk from "@svc/sdk";
import * as testing from "@svc/sdk/testing";
import { publint } from "publint";
import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../kit/kernel.ts";
import { pluginFolders, ROOT, read } from "./house.ts";

const run = promisify(execFile);

/*
 * What third parties import. Adding a name is a minor version of the sdk; taking one away or changing what it does needs a new
 * generation of the plugin API. Types are held by the compiler, in the plugins.
 */
const NAMES = [
  "API_FLOOR",
  "API_GENERATION",
  "LAYERS",
  "MAIN_PROVIDER",
  "SDK_VERSION",
  "append",
  "channelError",
  "complete",
  "definePlugin",
  "isLoaderVariable",
  "modelAddress",
  "modelFailure",
  "probeProviders",
  "push",
  "put",
  "readPictures",
  "recentHistory",
  "remove",
  "requireMarker",
  "requireSignature",
  "subscribes",
  "svcError",
  "turnText",
];
const TESTING_NAMES = [
  "actionContract",
  "channelContract",
  "checkSchema",
  "createFakeContext",
  "createFakeTasks",
  "createMemoryEvents",
  "createMemoryFiles",
  "createMemoryStore",
  "createMemoryWarm",
  "readRecording",
  "replayTier",
  "tierContract",
  "tortureCases",
  "tortureContract",
  "withDefaults",
  "writeTorture",
];

describe("@svc/sdk", () => {
  it("exports at run time what it exported before", () => {
    expect(Object.keys(sdk).sort()).toEqual(NAMES);
    expect(Object.keys(testing).sort()).toEqual(TESTING_NAMES);
  });

  it("has a generation that is not older than the oldest it loads", () => {
    expect(Number.isInteger(sdk.API_GENERATION) && Number.isInteger(sdk.API_FLOOR)).toBe(true);
    expect(sdk.API_FLOOR).toBeLessThanOrEqual(sdk.API_GENERATION);
  });
});

describe.each(["sdk", "kernel", "cli", ...pluginFolders().map(({ path }) => path)])("the package %s", (path) => {
  it("packs what it needs and nothing else, and publint finds nothing", async () => {
    const [cwd, target] = [join(ROOT, path), await temporaryFolder()];
    const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", target];
    const [packed] = JSON.parse((await run("npm", pack, { cwd })).stdout) as [{ filename: string; files: readonly { path: string }[] }];
    const files = packed.files.map((file) => file.path);
    expect(files.filter((file) => !file.startsWith("template/") && /\.(test|harness)\.|\.tsbuildinfo$|node_modules/.test(file))).toEqual([]);
    // The build puts the licence there: npm packs only what lies in a package's own folder.
    for (const file of ["README.md", "LICENSE"]) expect(files).toContain(file);
    expect(read(`${path}/LICENSE`)).toBe(read("LICENSE"));
    const tarball = await readFile(join(target, packed.filename));
    const { messages } = await publint({ strict: true, pack: { tarball: tarball.buffer.slice(tarball.byteOffset, tarball.byteOffset + tarball.byteLength) } });
    expect(messages).toEqual([]);
    const pkg = JSON.parse(read(`${path}/package.json`)) as { svc?: { entry: string } };
    expect(pkg).toMatchObject({ license: "MIT", engines: { node: ">=20.20.2" } });
    if (pkg.svc !== undefined) expect(files).toContain(pkg.svc.entry.replace("./", ""));
  }, 60_000);
});
