/* The packages of a release: what they are, and how they are packed into one folder. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..");

const readJson = (file) => JSON.parse(readFileSync(join(ROOT, file), "utf8"));

/** All packages that are published, in the order in which each finds what it depends on: sdk, kernel and its store, plugins, cli. */
export function packages() {
  const plugins = readdirSync(join(ROOT, "plugins")).flatMap((kind) => readdirSync(join(ROOT, "plugins", kind)).map((name) => `plugins/${kind}/${name}`));
  return ["sdk", ...plugins.sort(), "kernel", "cli"]
    .filter((folder) => existsSync(join(ROOT, folder, "package.json")))
    .map((folder) => ({ folder, pkg: readJson(`${folder}/package.json`) }));
}

/** The plugins that do not come with `@svc/cli`: what `svc plugin add` fetches by their name. */
export function onDemand(all = packages()) {
  const { dependencies } = all.find(({ folder }) => folder === "cli").pkg;
  return all.filter(({ pkg }) => pkg.svc !== undefined && !Object.hasOwn(dependencies, pkg.name));
}

/**
 * Packs every package into `target`; the cli is last, and carries `catalog.json` with the integrity of each package that it does not bring.
 * Answers the tarballs with name, size and integrity.
 */
export function packAll(target) {
  rmSync(target, { recursive: true, force: true });
  mkdirSync(target, { recursive: true });
  const all = packages();
  const pack = (folders) =>
    JSON.parse(
      execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", target, ...folders.map((folder) => resolve(ROOT, folder))], {
        cwd: ROOT,
        encoding: "utf8",
        maxBuffer: 64 * 1_048_576,
        stdio: ["ignore", "pipe", "ignore"],
      }),
    ).map(({ name, filename, unpackedSize }) => {
      const file = join(target, filename);
      return { name, file, bytes: unpackedSize, integrity: `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}` };
    });
  const packed = pack(all.flatMap(({ folder }) => (folder === "cli" ? [] : [folder])));
  const entries = onDemand(all).map(({ pkg }) => {
    const { integrity, bytes } = packed.find(({ name }) => name === pkg.name);
    const { kind, name, product, section, commands } = pkg.svc;
    return {
      package: pkg.name,
      version: pkg.version,
      integrity,
      bytes,
      kind,
      name,
      ...(product && { product }),
      ...(section && { section }),
      summary: pkg.description,
      ...(commands && { commands: commands.map((command) => command.name) }),
    };
  });
  // In a copy: a program that runs from the sources has all plugins beside it, and no catalogue.
  const copy = join(target, "cli");
  cpSync(join(ROOT, "cli"), copy, { recursive: true, filter: (path) => !path.endsWith("/node_modules") });
  writeFileSync(join(copy, "catalog.json"), `${JSON.stringify({ plugins: entries }, null, 1)}\n`);
  try {
    return [...packed, ...pack([copy])];
  } finally {
    rmSync(copy, { recursive: true });
  }
}
