import { constants, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { openRoot } from "./dependency-root.ts";
import { npm, npmSays, type PackageSource } from "./npm.ts";
import { requireReleased, specOf } from "./on-demand.ts";
import { packageSubject } from "./subject.ts";

/** Plugins in one file, for a machine without a registry. */
export interface Bundle {
  /** Each as `name@version`. */
  readonly plugins: readonly string[];
  readonly source: PackageSource;
  /** Operating system and processor of the machine that made it, such as `linux-x64`: packages may bring programs for that one alone. */
  readonly platform: string;
}

const NAME = "svc-plugin-bundle";
const VERSION = "1.0.0";
const CACHE = "cache";
const SPEC = /^(?:@\w[\w.-]*\/)?\w[\w.-]*@\d[\w.+-]*$/;
/** Operating system and processor of this machine, such as `linux-x64`. */
export const PLATFORM = `${process.platform}-${process.arch}`;

/**
 * `svc plugin bundle`: writes one tarball with these plugins and all packages that they depend on, as published in the registry: the part of an npm
 * cache that installs them offline. A trial installation verifies it first.
 */
export async function bundle(cli: Cli, words: readonly string[], output: string): Promise<void> {
  const file = resolve(output);
  if (existsSync(file)) throw fail("SVC_CLI_EXISTS", { what: file, next: "choose another file with --output" });
  const work = mkdtempSync(join(tmpdir(), "svc-bundle-"));
  try {
    const registry = await npmSays(work, ["config", "get", "registry"]);
    const { username, password } = new URL(registry);
    if (username !== "" || password !== "")
      throw fail("SVC_CLI_NPM", { what: "bundle", reason: "npm's setting 'registry' holds a password, which would go into the file; use _authToken instead" });
    const packed = join(work, "packed");
    const source = { cache: join(packed, CACHE), registry };
    const plugins = await download(cli, words, join(work, "online"), source);
    const trial = openRoot(join(work, "offline"));
    for (const plugin of plugins) await trial.install(plugin, { scripts: false, source });
    rmSync(join(source.cache, "_logs"), { recursive: true, force: true });
    const about = { name: NAME, version: VERSION, files: [CACHE], svcBundle: { registry, plugins, platform: PLATFORM } };
    writeFileSync(join(packed, "package.json"), JSON.stringify(about, null, 2));
    await npm(packed, ["pack", "--ignore-scripts", "--pack-destination", work]);
    copyFileSync(join(work, `${NAME}-${VERSION}.tgz`), file, constants.COPYFILE_EXCL);
    const { size } = statSync(file);
    cli.print(
      [`${file}, ${(size / 1e6).toFixed(1)} MB: ${plugins.join(", ")}`, `On a machine without a registry: svc plugin add ./${basename(file)}`].join("\n"),
      { file, bytes: size, plugins },
    );
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Fills the cache with the plugins and their dependencies; resolves with the plugins, as `name@version`. */
async function download(cli: Cli, words: readonly string[], folder: string, { cache }: PackageSource): Promise<readonly string[]> {
  const root = openRoot(folder);
  for (const word of words) {
    cli.say(`fetching ${word} ...`);
    await root.install(specOf(word), { scripts: false, cache });
  }
  return Object.keys(root.packages()).map((name) => {
    const { pkg } = packageSubject(name, root.folderOf(name));
    if (pkg?.svc === undefined) throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason: 'its package.json has no "svc" member, so it is no plugin' });
    requireReleased(folder, name, pkg.version);
    return `${name}@${pkg.version}`;
  });
}

/** Returns the content of a package folder made by `svc plugin bundle`; undefined for any other package. */
export function bundleIn(folder: string): Bundle | undefined {
  const { name, svcBundle } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name?: string;
    readonly svcBundle?: { readonly registry: string; readonly plugins: readonly string[]; readonly platform: string };
  };
  if (name !== NAME || svcBundle === undefined) return undefined;
  const { registry, plugins, platform } = svcBundle;
  // Only a name and a version: npm would also take an address or a folder.
  if (!Array.isArray(plugins) || !plugins.every((plugin) => typeof plugin === "string" && SPEC.test(plugin)))
    throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: NAME, reason: "its list of plugins is damaged; make the file again with: svc plugin bundle" });
  return { plugins, platform, source: { cache: join(folder, CACHE), registry } };
}
