import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ROOT } from "./house.ts";

const run = promisify(execFile);
const SVC = join(ROOT, "cli/bin/svc.mjs");

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

// Side by side: most of what a check takes is waiting for bad plugins that never end.
describe.concurrent.each(["channel", "tier", "engine", "action", "feature"])("svc plugin new %s", (kind) => {
  it("AUT-B17 writes a package that builds, passes its contract, packs and is fit to be published", async () => {
    const folder = await scaffold(kind);
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], { cwd: folder });
    const tested = await run(process.execPath, ["--test", "--test-reporter=tap", "dist/conformance.test.js"], { cwd: folder, env });
    expect(Number(/^# pass (\d+)$/m.exec(tested.stdout)?.[1])).toBeGreaterThan(1);
    expect(tested.stdout).toMatch(/^# fail 0$/m);
    const [packed] = JSON.parse((await run("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: folder })).stdout) as [
      { files: { path: string }[] },
    ];
    const files = packed.files.map(({ path }) => path);
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist/index.js", "dist/conformance.js"]));
    expect(files.filter((path) => path.startsWith("src/") || path.includes(".test."))).toEqual([]);
    const unwritten = await run(process.execPath, [SVC, "plugin", "check", ".", "--quick"], { cwd: folder }).catch((error: { stdout: string }) => error);
    expect(unwritten.stdout).toContain("README.md still holds the template's words");
    const readme = join(folder, "README.md");
    writeFileSync(readme, readFileSync(readme, "utf8").replace("say here in two sentences what it is good for", "it is good"));
    const checked = await run(process.execPath, [SVC, "plugin", "check", "."], { cwd: folder }).catch((error: { stdout: string }) => error);
    expect(checked.stdout).toContain("It is fit to be published.");
    // What a deleted source file left behind is not published.
    writeFileSync(join(folder, "dist/deleted.js"), "");
    await run("npm", ["run", "prepack"], { cwd: folder, env: { ...env, PATH: `${join(ROOT, "node_modules/.bin")}:${env.PATH}` } });
    expect(existsSync(join(folder, "dist/index.js"))).toBe(true);
    expect(existsSync(join(folder, "dist/deleted.js"))).toBe(false);
  }, 240_000);
});
