import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** The package at `folder` in the folder `into`, as `npm pack` would name and lay it out, with every file that lies there. Answers `./<file>`. npm itself takes most of a second. */
export function packPackage(folder: string, into: string): string {
  const { name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { name: string; version: string };
  const file = `${name.replace(/^@/, "").replace("/", "-")}-${version}.tgz`;
  const named = `s,^${basename(folder)}\\(/\\|$\\),package\\1,`;
  execFileSync("tar", ["-czf", join(into, file), "--transform", named, "--exclude", "node_modules", "-C", dirname(folder), basename(folder)]);
  return `./${file}`;
}
