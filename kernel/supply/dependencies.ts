import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { integrityOf } from "./package-hash.ts";

/** Hashes of packages by `<name>@<version>`. */
export type Dependencies = Readonly<Record<string, string>>;

/** The daemon brings it; in a root of plugins it is a link. */
const SDK = "@svc/sdk";
/** Packages that are read at the same time. */
const AT_ONCE = 8;

interface Facts {
  readonly name?: string;
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Returns the hash of each package that an installed plugin uses, resolved as Node would: its dependencies, and theirs. Two copies of one version
 * count together. A dependency that is not installed is omitted: it shows when it appears.
 */
export async function dependenciesOf(folder: string): Promise<Dependencies> {
  const found = reachable(realpathSync(folder));
  const hashes = new Map<string, Set<string>>();
  const waiting = [...found];
  const work = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [path, { name = basename(path), version = "?" }] = next;
      const key = `${name}@${version}`;
      const hash = await integrityOf(path);
      hashes.set(key, (hashes.get(key) ?? new Set()).add(hash));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return Object.fromEntries([...hashes].sort(([left], [right]) => (left < right ? -1 : 1)).map(([key, each]) => [key, [...each].sort().join(" ")]));
}

/** Returns the packages that differ, appeared or disappeared, by name and version; empty if the earlier state is unknown. */
export function changedDependencies(before: Dependencies | undefined, now: Dependencies | undefined): string[] {
  if (before === undefined || now === undefined) return [];
  return [...new Set([...Object.keys(before), ...Object.keys(now)])].filter((key) => before[key] !== now[key]).sort();
}

/** The packages below the plugin, by the folder where links lead, each with its package.json; without the plugin itself. */
function reachable(plugin: string): Map<string, Facts> {
  const root = rootOf(plugin);
  const found = new Map<string, Facts>();
  const visit = (folder: string, facts: Facts): void => {
    const named = Object.keys({ ...facts.peerDependencies, ...facts.optionalDependencies, ...facts.dependencies });
    const folders = [...named.map((name) => resolveFrom(folder, name, root)), ...nestedIn(folder)];
    for (const path of folders) {
      if (path === undefined || path === plugin || found.has(path)) continue;
      const inner = factsOf(path);
      if (inner.name === SDK) continue;
      found.set(path, inner);
      visit(path, inner);
    }
  };
  visit(plugin, factsOf(plugin));
  return found;
}

/** Above the outermost `node_modules` that the package lies in. */
function rootOf(folder: string): string {
  const at = folder.indexOf("/node_modules/");
  return at === -1 ? folder : folder.slice(0, at);
}

function resolveFrom(folder: string, name: string, root: string): string | undefined {
  for (let at = folder; `${at}/`.startsWith(`${root}/`); at = dirname(at)) {
    const path = join(at, "node_modules", name);
    if (basename(at) !== "node_modules" && existsSync(join(path, "package.json"))) return realpathSync(path);
  }
  return undefined;
}

/** Returns the packages in a package's own `node_modules`, whether it names them or not. */
function nestedIn(folder: string): string[] {
  const modules = join(folder, "node_modules");
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name]));
  return names.filter((name) => existsSync(join(modules, name, "package.json"))).map((name) => realpathSync(join(modules, name)));
}

function factsOf(folder: string): Facts {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Facts;
  } catch {
    return {};
  }
}
