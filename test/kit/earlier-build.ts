import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../house/house.ts";

/** Why a commit of this repository cannot be built here; undefined where it can. */
export function absent(commit: string): string | undefined {
  const { status, error } = spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: ROOT });
  if (error !== undefined) return "git is not installed";
  return status === 0 ? undefined : `the commit ${commit} is not in this checkout (git fetch --unshallow brings it)`;
}

/**
 * Builds a commit of this repository in a folder of its own, which must be empty, with the libraries that are installed here. Some five seconds: its
 * types are not checked once more.
 */
export function buildEarlier(commit: string, folder: string): void {
  const run = (command: string) => {
    const { status, stdout, stderr } = spawnSync("bash", ["-o", "pipefail", "-c", command], { cwd: folder, encoding: "utf8" });
    if (status !== 0) throw new Error(`${command}: ${stdout}${stderr}`.slice(0, 2_000));
  };
  run(`git -C '${ROOT}' archive ${commit} sdk kernel cli plugins test/house package.json tsconfig.json | tar x`);
  const libraries = join(ROOT, "node_modules");
  const own = join(folder, "node_modules");
  mkdirSync(join(own, "@svc"), { recursive: true });
  for (const name of readdirSync(libraries)) if (name !== "@svc") symlinkSync(join(libraries, name), join(own, name));
  const kinds = readdirSync(join(folder, "plugins"));
  const packages = ["sdk", "kernel", "cli", ...kinds.flatMap((kind) => readdirSync(join(folder, "plugins", kind)).map((name) => `plugins/${kind}/${name}`))];
  for (const path of packages) {
    const file = join(folder, path, "package.json");
    if (!existsSync(file)) continue;
    const { name } = JSON.parse(readFileSync(file, "utf8")) as { name: string };
    symlinkSync(join(folder, path), join(own, name));
  }
  run(`'${process.execPath}' '${join(libraries, "typescript/bin/tsc")}' -b --noCheck`);
}
