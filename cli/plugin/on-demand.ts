import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail } from "../errors.ts";

/** A first-party plugin that is not part of the installation because of its dependencies. */
export interface OnDemand {
  readonly package: string;
  /** The one that fits this program: all packages of a release have one version. */
  readonly version: string;
  /** Of its tarball, as it was released. */
  readonly integrity: string;
  readonly bytes: number;
  readonly kind: string;
  readonly name: string;
  readonly product?: string;
  readonly section?: string;
  readonly summary: string;
  /** Command groups that it adds to `svc`. */
  readonly commands?: readonly string[];
}

/** File that the release writes into this package. In a workspace it is absent, and every plugin lies beside us. */
const FILE = fileURLToPath(new URL("../../catalog.json", import.meta.url));

/** The first-party plugins that are downloaded on demand. */
export const onDemand = (): readonly OnDemand[] =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as { plugins: readonly OnDemand[] }).plugins : [];

/** Names that people use: the end of its section, its name, its id or its package. */
const names = ({ section, name, kind, package: pkg }: OnDemand): (string | undefined)[] => [pkg, `${kind}-${name}`, name, section?.split(".").at(-1)];

/** The first-party plugin of that name, and of that kind where one is given. */
export const findOnDemand = (word: string, kind?: string): OnDemand | undefined =>
  onDemand().find((plugin) => (kind === undefined || plugin.kind === kind) && names(plugin).includes(word));

/** Returns the package spec for npm: a first-party plugin in the version of this program, else the word itself. */
export function specOf(word: string): string {
  const ours = findOnDemand(word);
  return ours === undefined ? word : `${ours.package}@${ours.version}`;
}

/** Returns why a command group is missing if it belongs to a plugin that is not installed. */
export function whyNoGroup(group: string): string | undefined {
  const plugin = onDemand().find(({ commands = [] }) => commands.includes(group));
  return plugin && `svc ${group} comes with the plugin ${plugin.name}, which is not installed; add it with: svc plugin add ${plugin.name}`;
}

/**
 * Refuses a package from a registry that differs from the first-party plugin released with this program. Other versions than this program's, and
 * other packages, are verified by their pin alone. Throws `SVC_CLI_PLUGIN_LOOK`.
 */
export function requireReleased(folder: string, name: string, version: string): void {
  const plugin = onDemand().find((one) => one.package === name && one.version === version);
  if (plugin === undefined) return;
  const { packages = {} } = JSON.parse(readFileSync(join(folder, "node_modules/.package-lock.json"), "utf8")) as {
    packages?: Readonly<Record<string, { readonly integrity?: string }>>;
  };
  if (packages[`node_modules/${name}`]?.integrity === plugin.integrity) return;
  const reason = `the registry's ${name} ${version} is not the one that was released with this program; nothing was installed. Which registry: npm config get registry`;
  throw fail("SVC_CLI_PLUGIN_LOOK", { plugin: name, reason });
}
