import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fail } from "../errors.ts";

/** A first-party plugin that the installation does not bring, because of what it depends on. */
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
}

/** Written by the release into this package. In a workspace there is none, and every plugin lies beside us. */
const FILE = fileURLToPath(new URL("../../catalog.json", import.meta.url));

/** The first-party plugins that are fetched when they are asked for. */
export const onDemand = (): readonly OnDemand[] =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, "utf8")) as { plugins: readonly OnDemand[] }).plugins : [];

/** What people call it: the end of its section, its name, its id or its package. */
const names = ({ section, name, kind, package: pkg }: OnDemand): (string | undefined)[] => [pkg, `${kind}-${name}`, name, section?.split(".").at(-1)];

/** The first-party plugin of that name, and of that kind where one is given. */
export const findOnDemand = (word: string, kind?: string): OnDemand | undefined =>
  onDemand().find((plugin) => (kind === undefined || plugin.kind === kind) && names(plugin).includes(word));

/**
 * Refuses what a registry gave for a first-party plugin where it is not what was released with this program. Other versions than this
 * program's, and other packages, are judged by their pin alone. Throws `SVC_CLI_PLUGIN_LOOK`.
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
