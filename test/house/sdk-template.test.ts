import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./house.ts";

const run = promisify(execFile);
const SVC = join(ROOT, "cli/bin/svc.cjs");

let homes: string;
beforeAll(async () => {
  homes = await mkdtemp(join(tmpdir(), "svc-template-"));
});
afterAll(() => rm(homes, { recursive: true }));

/** Scaffolds outside of the repository; what `npm install` would bring is linked. */
async function scaffold(kind: string): Promise<string> {
  const home = await mkdtemp(join(homes, `${kind}-`));
  await run(process.execPath, [SVC, "plugin", "new", kind, "my-acme"], { cwd: home });
  const folder = join(home, "svc-plugin-my-acme");
  mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
  symlinkSync(join(ROOT, "sdk"), join(folder, "node_modules/@svc/sdk"));
  for (const name of ["typescript", "@types"]) symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
  return folder;
}

/** What a template's README asks its author for. */
const TO_BE_SAID = "say here in two sentences what it is good for";

// Side by side: most of what a check takes is waiting for bad plugins that never end.
describe.concurrent.each(["channel", "tier", "engine", "action", "feature"])("svc plugin new %s", (kind) => {
  it("AUT-B17 writes a package that builds, passes its contract, packs and is fit to be published", async () => {
    const folder = await scaffold(kind);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    // What a deleted source file left behind is not published: packing builds anew.
    mkdirSync(join(folder, "dist"));
    writeFileSync(join(folder, "dist/deleted.js"), "");
    const withTools = { cwd: folder, env: { ...env, PATH: `${join(ROOT, "node_modules/.bin")}:${env.PATH}` } };
    const { stdout } = await run("npm", ["pack", "--dry-run", "--json", "--silent"], withTools);
    const [packed] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const files = packed.files.map(({ path }) => path);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist/index.js", "dist/conformance.js"]));
    expect(files.filter((path) => path.startsWith("src/") || path.includes(".test."))).toEqual([]);
    expect(files).not.toContain("dist/deleted.js");
    const tested = await run(process.execPath, ["--test", "--test-reporter=tap", "dist/conformance.test.js"], { cwd: folder, env });
    expect(Number(/^# pass (\d+)$/m.exec(tested.stdout)?.[1])).toBeGreaterThan(1);
    expect(tested.stdout).toMatch(/^# fail 0$/m);
    const readme = join(folder, "README.md");
    const unwritten = readFileSync(readme, "utf8");
    expect(unwritten).toContain(TO_BE_SAID);
    writeFileSync(readme, unwritten.replace(TO_BE_SAID, "it is good"));
    const checked = await run(process.execPath, [SVC, "plugin", "check", "."], { cwd: folder }).catch((error: { stdout: string }) => error);
    expect(checked.stdout).toContain("It is fit to be published.");
  }, 240_000);
});
