/*
 * The project references in the root tsconfig.json: each folder of sdk, kernel, cli and plugins that has a tsconfig.json. The build writes
 * them, so that a new plugin touches its own folder only; a house test compares the committed file. Packages that stand apart are left out.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { APART } from "./apart.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const FILE = join(ROOT, "tsconfig.json");
const LEFT_OUT = new Set(["node_modules", "dist", "template", "fixtures"]);

/** The folders below `folder` with a tsconfig.json, sorted; paths are relative to the root. */
function projects(folder) {
  if (APART.includes(folder)) return [];
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory() && !LEFT_OUT.has(entry.name)).flatMap(({ name }) => projects(`${folder}/${name}`));
  return [...(entries.some(({ name }) => name === "tsconfig.json") ? [folder] : []), ...below.sort()];
}

/** The root tsconfig.json as it is and as it should be. */
export function references() {
  const text = readFileSync(FILE, "utf8");
  const config = { ...JSON.parse(text), references: ["sdk", "kernel", "cli", "plugins"].flatMap(projects).map((path) => ({ path })) };
  return { text, wanted: `${JSON.stringify(config, null, 2)}\n` };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { text, wanted } = references();
  if (text !== wanted) {
    writeFileSync(FILE, wanted);
    console.log("updated tsconfig.json");
  }
}
