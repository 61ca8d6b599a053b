import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { makeFolder } from "../make-folder.ts";
import { npm, offline, type PackageSource } from "./npm.ts";

/** `scripts`: install scripts may run. `source`: in place of the registry. `cache`: a folder for npm's cache in place of the user's. */
export interface InstallOptions {
  readonly scripts: boolean;
  readonly source?: PackageSource | undefined;
  readonly cache?: string;
}

/** A folder into which npm installs plugins: all of them share its tree, which contains the daemon's own sdk as a link. */
export interface DependencyRoot {
  readonly folder: string;
  /** Install one package. `spec` is a name with or without a version, a tarball or an address that npm knows. */
  install(spec: string, options: InstallOptions): Promise<void>;
  uninstall(name: string): Promise<void>;
  /** Installed packages by name, with npm's record: an exact version, or the address of another source. */
  packages(): Readonly<Record<string, string>>;
  folderOf(name: string): string;
}

const SDK = "@svc/sdk";

/** Opens `folder` as a root of dependencies; creates its package.json if needed, and keeps it pointing at this program's sdk. */
export function openRoot(folder: string): DependencyRoot {
  const file = join(folder, "package.json");
  const dependencies = (): Record<string, string> => {
    if (!existsSync(file)) return {};
    const { [SDK]: _, ...rest } = (JSON.parse(readFileSync(file, "utf8")) as { dependencies?: Record<string, string> }).dependencies ?? {};
    return rest;
  };
  const prepare = async (): Promise<void> => {
    const { createFolder } = await import("@svc/kernel/folder");
    makeFolder(folder, 0o700);
    const pkg = {
      name: "svc-plugins",
      private: true,
      description: "Plugins of this daemon; changed by: svc plugin add, svc plugin remove",
      dependencies: { [SDK]: `file:${sdkFolder()}`, ...dependencies() },
      // Overrides the range of every plugin: there is one sdk, and the loader checks whether a plugin fits its generation.
      overrides: { [SDK]: `$${SDK}` },
    };
    // Whole, and of root that of the folder's owner: as whom the daemon and later commands read it.
    await createFolder(folder).write("package.json", `${JSON.stringify(pkg, null, 2)}\n`);
  };
  const common = ["--prefix", folder, "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--no-install-links"];
  return {
    folder,
    async install(spec, { scripts, source, cache }) {
      await prepare();
      const from = source !== undefined ? offline(source) : cache !== undefined ? [`--cache=${cache}`] : [];
      await npm(folder, ["install", ...common, ...from, "--save-exact", scripts ? "--no-ignore-scripts" : "--ignore-scripts", "--", spec]);
    },
    async uninstall(name) {
      await prepare();
      await npm(folder, ["uninstall", ...common, "--ignore-scripts", "--", name]);
    },
    packages: dependencies,
    folderOf: (name) => join(folder, "node_modules", name),
  };
}

/** The sdk that this program runs with. */
const sdkFolder = (): string => dirname(dirname(createRequire(import.meta.url).resolve(SDK)));
