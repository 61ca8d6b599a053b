import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fail } from "../errors.ts";

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

/** The npm on PATH, with the user's own registry and settings. No shell reads the words. */
function npm(cwd: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", args, { cwd, stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    child.stderr.on("data", (chunk) => {
      said = (said + chunk).slice(-8_192);
    });
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(fail("SVC_CLI_NPM", { what: args[0], reason: error.code === "ENOENT" ? "there is no npm on PATH" : error.message })),
    );
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(fail("SVC_CLI_NPM", { what: args[0], reason: reasonIn(said) || `it ended with code ${code}` }));
    });
  });
}

/** What npm said, on one line. Where versions do not fit together it prints a page that ends in advice to force it: of that, who asks for what. */
function reasonIn(said: string): string {
  const lines = said
    .split("\n")
    .filter((line) => line.startsWith("npm error") && !line.includes("A complete log"))
    .map((line) => line.slice("npm error".length).trim());
  if (!lines.includes("code ERESOLVE")) return lines.join(" ");
  const asked = lines.filter((line) => /^(peer|peerOptional) /.test(line));
  return `it does not fit beside what is installed already: ${[...new Set(asked)].join("; ")}. Remove that plugin, or install another version of this one`;
}
