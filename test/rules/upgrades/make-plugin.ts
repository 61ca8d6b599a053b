import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../house/house.ts";

const FIXTURES = join(ROOT, "test/contract/fixtures");

/**
 * Compiles `test/contract/fixtures/plugin-source` against the sdk of that built clone, as an author would, to
 * `test/contract/fixtures/plugin-sdk-<commit>`, which `test/contract/api-generation-1.test.ts` loads from then on. Nothing is written
 * where an earlier sdk gave the same JavaScript: the test loads that plugin already.
 */
export async function makePlugin(root: string, commit: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "svc-plugin-of-"));
  mkdirSync(join(folder, "src"));
  copyFileSync(join(FIXTURES, "plugin-source/index.ts"), join(folder, "src/index.ts"));
  copyFileSync(join(ROOT, "sdk/template/common/tsconfig.json.txt"), join(folder, "tsconfig.json"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  mkdirSync(join(folder, "node_modules/@svc"), { recursive: true });
  symlinkSync(join(root, "sdk"), join(folder, "node_modules/@svc/sdk"));
  symlinkSync(join(ROOT, "node_modules/@types"), join(folder, "node_modules/@types"));
  const { status, stdout } = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc")], { cwd: folder, encoding: "utf8" });
  if (status !== 0) throw new Error(`the plugin does not compile against the sdk of ${commit}: ${stdout}`);

  const compiled = readFileSync(join(folder, "dist/index.js"), "utf8");
  const same = readdirSync(FIXTURES).find((name) => name.startsWith("plugin-sdk-") && readFileSync(join(FIXTURES, name, "index.js"), "utf8") === compiled);
  if (same !== undefined) {
    await rm(folder, { recursive: true, force: true });
    console.log(`the plugin is the same as ${same}`);
    return;
  }

  const made = join(FIXTURES, `plugin-sdk-${commit}`);
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, "index.js"), compiled);
  cpSync(join(FIXTURES, "plugin-source/files"), join(made, "files"), { recursive: true });
  const { version } = JSON.parse(readFileSync(join(root, "sdk/package.json"), "utf8")) as { version: string };
  const base = JSON.parse(readFileSync(join(FIXTURES, "plugin-source/package.json"), "utf8"));
  const description = `Compiled against @svc/sdk ${version} of ${commit}. It is never built anew: later daemons must go on loading it.`;
  writeFileSync(join(made, "package.json"), `${JSON.stringify({ ...base, description, peerDependencies: { "@svc/sdk": `^${version}` } }, null, 2)}\n`);
  await rm(folder, { recursive: true, force: true });
  console.log(made);
}
