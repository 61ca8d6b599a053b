/*
 * Packages that stand apart: plugins in this tree that are no part of the workspace, because what they depend on may not come into the default
 * installation (libraries under the GPL beside ours under the MIT licence). They are the negated patterns of `workspaces`. Each has a lock file
 * of its own; `npm run apart`, which `npm test` calls, installs and builds them.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");

/** Their folders, as `plugins/channels/<name>`. */
export const APART = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
  .workspaces.filter((pattern) => pattern.startsWith("!"))
  .map((pattern) => pattern.slice(1));

/** Installs what a package asks for, without its install scripts, when that is not there yet. Answers whether it is there then. */
function install(folder) {
  const lock = readFileSync(join(ROOT, folder, "package-lock.json"), "utf8");
  const stamp = join(ROOT, folder, "node_modules/.installed");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === lock) return true;
  console.log(`${folder}: installing what it depends on (npm ci); it is apart because of the licences of these`);
  const { status } = spawnSync("npm", ["ci", "--prefer-offline", "--loglevel=error"], { cwd: join(ROOT, folder), stdio: "inherit" });
  if (status === 0) writeFileSync(stamp, lock);
  return status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const folder of APART) {
    if (!install(folder)) {
      console.error(`${folder}: npm ci failed (see above), so it is not built and its tests are skipped`);
      continue;
    }
    const { status } = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-b", folder], { cwd: ROOT, stdio: "inherit" });
    if (status !== 0) process.exit(1);
    console.log(`${folder}: built`);
  }
}
