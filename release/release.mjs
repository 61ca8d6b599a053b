/*
 * A release of all packages in one step: `npm run release -- [version] [--dry-run]`. Looks at everything first; without --dry-run it publishes
 * with the npm that is signed in, sdk first and cli last, and what lies beside it in `release/out` belongs to the release: the tarballs, the
 * list of components (sbom.json) and NOTICE. With a version, that version is written into every package first; that is to be committed.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publint } from "publint";
import { APART } from "../test/house/apart.mjs";
import { components } from "./components.mjs";
import { packAll, packages, ROOT } from "./packages.mjs";

const OUT = join(ROOT, "release/out");
/** Licences that ask a user for nothing but to name them, and one (MPL-2.0) that does for what it is applied to, unchanged. */
const FREE = /^\(?(MIT|ISC|Apache-2\.0|BSD-[23]-Clause|0BSD|BlueOak-1\.0\.0|Unlicense|Python-2\.0|MPL-2\.0)/;
/** What a package may bring besides that stands apart for this reason. */
const APART_ONLY = /^GPL-3\.0/;

const dryRun = process.argv.includes("--dry-run");
const [given] = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const read = (path) => readFileSync(join(ROOT, path), "utf8");
const rootPackage = JSON.parse(read("package.json"));
const problems = [];

/** Every place in which the version of all packages stands: text by file. */
function atVersion(version) {
  const from = rootPackage.version;
  const files = ["package.json", ...packages().map(({ folder }) => `${folder}/package.json`)];
  const changed = new Map(files.map((file) => [file, read(file).replaceAll(new RegExp(`("(?:version|@svc/[a-z0-9-]+)": ?)"${from}"`, "g"), `$1"${version}"`)]));
  changed.set("sdk/plugin.ts", read("sdk/plugin.ts").replace(`SDK_VERSION = "${from}"`, `SDK_VERSION = "${version}"`));
  for (const { folder, pkg } of packages().filter(({ pkg: { svc } }) => svc !== undefined))
    for (const file of readdirSync(join(ROOT, folder)).filter((name) => /^(index|plugin)\.ts$/.test(name)))
      changed.set(`${folder}/${file}`, read(`${folder}/${file}`).replace(`version: "${pkg.version}"`, `version: "${version}"`));
  return [...changed].filter(([file, text]) => text !== read(file));
}

if (given !== undefined && !/^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/.test(given)) throw new Error(`'${given}' is no version`);
const version = given ?? rootPackage.version;
const changes = given === undefined ? [] : atVersion(given);
if (changes.length > 0) {
  console.log(`${rootPackage.version} -> ${version} in ${changes.length} files${dryRun ? " (not written)" : ""}`);
  if (!dryRun) {
    for (const [file, text] of changes) writeFileSync(join(ROOT, file), text);
    execFileSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], { cwd: ROOT, stdio: "inherit" });
    console.log("Build, test and commit this; then release it: npm run release");
    process.exit(0);
  }
}

const differing = packages().filter(({ pkg }) => pkg.version !== rootPackage.version);
for (const { pkg } of differing) problems.push(`${pkg.name} has version ${pkg.version}, all others ${rootPackage.version}`);
for (const file of ["CHANGELOG.md", "sdk/CHANGELOG.md"]) {
  const entry = read(file)
    .split(/^## /m)
    .find((part) => part.startsWith(`${version}\n`));
  if (entry === undefined || entry.split("\n").slice(1).join("").trim() === "") problems.push(`${file} has no entry ## ${version}`);
}
for (const { folder, pkg } of packages()) {
  if (pkg.license !== "MIT" || pkg.engines?.node === undefined || pkg.description === undefined)
    problems.push(`${folder}/package.json lacks license, engines or description`);
  if (pkg.svc !== undefined && !existsSync(join(ROOT, folder, pkg.svc.entry)))
    problems.push(`${folder} is not built. npm run release builds all; what it says above is why this one is not`);
}

const packed = packAll(OUT);
for (const { name, file } of packed) {
  const bytes = readFileSync(file);
  const { messages } = await publint({ strict: true, pack: { tarball: bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) } });
  for (const { code, path } of messages) problems.push(`publint: ${name}: ${code} at ${path.join(".")}`);
}

const sbom = components();
const licences = sbom.components.map(({ name, version: has, licenses = [], scope }) => ({
  name: `${name} ${has}`,
  licence: licenses.map(({ license, expression }) => expression ?? license.id ?? license.name).join(" "),
  isApart: scope === "optional",
}));
for (const { name, licence, isApart } of licences)
  if (!FREE.test(licence) && !(isApart && APART_ONLY.test(licence))) problems.push(`${name} has the licence '${licence}'`);
const noticeOf = (apart) =>
  licences
    .filter(({ isApart }) => isApart === apart)
    .map(({ name, licence }) => `${name}: ${licence}\n`)
    .sort()
    .join("");
writeFileSync(join(OUT, "sbom.json"), JSON.stringify(sbom));
writeFileSync(
  join(OUT, "NOTICE"),
  `What svc ${version} is installed with, and under which licence:\n\n${noticeOf(false)}\n` +
    `What comes only with a plugin that is installed apart (${APART.join(", ")}):\n\n${noticeOf(true)}`,
);

// Provenance is a statement of the platform that builds: it needs that platform's identity, and the address of the sources in each package.
const byPlatform = process.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined || process.env.SIGSTORE_ID_TOKEN !== undefined;
if (byPlatform && rootPackage.repository === undefined) problems.push("package.json has no repository, which provenance names");

const bytes = packed.reduce((sum, one) => sum + one.bytes, 0);
console.log(`${packed.length} packages of ${version}, ${(bytes / 1e6).toFixed(1)} MB; ${licences.length} components; in ${OUT}`);
for (const problem of problems) console.error(`problem: ${problem}`);
if (problems.length > 0) process.exit(1);
if (dryRun) console.log("Nothing was published.");
else
  for (const { file } of packed)
    execFileSync("npm", ["publish", file, "--access=public", "--ignore-scripts", ...(byPlatform ? ["--provenance"] : [])], { stdio: "inherit" });
