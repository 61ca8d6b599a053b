/*
 * Builds the pages (`ui`) into `dist/ui`: names that change with the bytes, packed by brotli, and the licences of what is bundled.
 * Does nothing where the sources and the libraries are those of the last build.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const HOME = dirname(fileURLToPath(import.meta.url));
const OUT = join(HOME, "dist/ui");
const STAMP = join(HOME, "dist/.ui-stamp");
const require = createRequire(import.meta.url);

/** Of everything that the result depends on. */
function stampOf() {
  const hash = createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url)));
  for (const path of filesOf(join(HOME, "ui"))) hash.update(path).update(readFileSync(path));
  const { devDependencies } = JSON.parse(readFileSync(join(HOME, "package.json"), "utf8"));
  for (const name of Object.keys(devDependencies).sort()) if (!name.startsWith("@types/")) hash.update(`${name}@${manifestOf(name).version}`);
  return hash.digest("hex");
}

const filesOf = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();

/** The manifest of an installed package, also of one whose exports hide it. */
function manifestOf(name) {
  const folder = require.resolve
    .paths(name)
    .map((path) => join(path, name))
    .find((path) => existsSync(join(path, "package.json")));
  return { ...JSON.parse(readFileSync(join(folder, "package.json"), "utf8")), folder };
}

/** Vendors of the bundle, each with its licence: what their terms ask for. */
function licences(modules) {
  const names = new Set();
  for (const id of modules) {
    const after = id.replaceAll("\\", "/").split("/node_modules/").at(-1);
    if (id.includes("node_modules"))
      names.add(
        after
          .split("/")
          .slice(0, after.startsWith("@") ? 2 : 1)
          .join("/"),
      );
  }
  const texts = [...names].sort().map((name) => {
    const { version, license, folder } = manifestOf(name);
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    return `${name} ${version} (${license})\n\n${file === undefined ? `See https://www.npmjs.com/package/${name}` : readFileSync(join(folder, file), "utf8").trim()}\n`;
  });
  return `The pages of this package contain the following libraries.\n\n${texts.join(`\n${"-".repeat(80)}\n\n`)}`;
}

const stamp = stampOf();
if (existsSync(join(OUT, "index.html")) && existsSync(STAMP) && readFileSync(STAMP, "utf8") === stamp) process.exit(0);

const { build } = await import("vite");
const { default: react } = await import("@vitejs/plugin-react");
const modules = new Set();
const noted = {
  name: "noted",
  generateBundle(_options, bundle) {
    for (const { moduleIds = [] } of Object.values(bundle)) for (const id of moduleIds) modules.add(id);
  },
};
rmSync(STAMP, { force: true });
await build({
  root: join(HOME, "ui"),
  configFile: false,
  logLevel: "warn",
  plugins: [react(), noted],
  worker: { format: "es", plugins: () => [noted] },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsDir: "assets",
    // The content policy lets in files of this server only: nothing is written into the page or another file.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2023",
    chunkSizeWarningLimit: 300,
    rolldownOptions: {
      // How long the build takes is said by the machine, not by these sources.
      checks: { pluginTimings: false },
      // What most pages share is one file: as a file for each set of pages it was thirteen requests before the first paint, and as many after it.
      output: { codeSplitting: { groups: [{ name: "shared", test: /[\\/]ui[\\/](?:data|kit|shell)[\\/]/, minShareCount: 2 }] } },
    },
  },
});
writeFileSync(join(OUT, "licences.txt"), licences(modules));
for (const path of filesOf(join(OUT, "assets"))) {
  const bytes = readFileSync(path);
  if (bytes.length <= 512) continue;
  // Packed only: the daemon unpacks it for a caller that does not take it so.
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
  rmSync(path);
}
writeFileSync(STAMP, stamp);
