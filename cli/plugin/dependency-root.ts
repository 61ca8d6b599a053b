import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { npm } from "./npm.ts";

/** A folder into which npm installs plugins: all of them share its tree, and the daemon's own sdk stands in it as a link. */
export interface DependencyRoot {
  readonly folder: string;
  /** Install one package. `spec` is a name with or without a version, a tarball or an address that npm knows. */
  install(spec: string, options: { readonly scripts: boolean }): Promise<void>;
  uninstall(name: string): Promise<void>;
  /** Installed by name, with what npm recorded for it: an exact version, or the address of another source. */
  packages(): Readonly<Record<string, string>>;
  folderOf(name: string): string;
}

const SDK = "@svc/sdk";

/** Uses `folder` as a root; its package.json is written when there is none, and kept pointed at this program's sdk. */
export function openRoot(folder: string): DependencyRoot {
  const file = join(folder, "package.json");
  const dependencies = (): Record<string, string> => {
    if (!existsSync(file)) return {};
    const { [SDK]: _, ...rest } = (JSON.parse(readFileSync(file, "utf8")) as { dependencies?: Record<string, string> }).dependencies ?? {};
    return rest;
  };
  const prepare = (): void => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const pkg = {
      name: "svc-plugins",
      private: true,
      description: "Plugins of this daemon; changed by: svc plugin add, svc plugin remove",
      dependencies: { [SDK]: `file:${sdkFolder()}`, ...dependencies() },
      // Whatever range a plugin asks for: there is one sdk, and whether a plugin fits is judged by its generation when it loads.
      overrides: { [SDK]: `$${SDK}` },
    };
    writeFileSync(file, `${JSON.stringify(pkg, null, 2)}\n`, { mode: 0o600 });
  };
  const common = ["--prefix", folder, "--no-audit", "--no-fund", "--no-update-notifier", "--omit=dev", "--no-install-links"];
  return {
    folder,
    async install(spec, { scripts }) {
      prepare();
      await npm(folder, ["install", ...common, "--save-exact", scripts ? "--no-ignore-scripts" : "--ignore-scripts", "--", spec]);
    },
    async uninstall(name) {
      prepare();
      await npm(folder, ["uninstall", ...common, "--ignore-scripts", "--", name]);
    },
    packages: dependencies,
    folderOf: (name) => join(folder, "node_modules", name),
  };
}

/** The sdk that this program runs with. */
const sdkFolder = (): string => dirname(dirname(createRequire(import.meta.url).resolve(SDK)));
