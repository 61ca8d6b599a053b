import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { integrityOf } from "./package-hash.ts";

/** Hashes of packages by `<name>@<version>`. */
export type Dependencies = Readonly<Record<string, string>>;

/** The daemon brings it: in a root of plugins it is a link that leads out of there. */
const SDK = "@svc/sdk";
/** What Node takes for a package of a name, beside a folder. */
const FILES = ["", ".js", ".json", ".node"];
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
    const paths = [...named.flatMap((name) => resolveFrom(folder, name, root)), ...nestedIn(folder)];
    for (const path of paths) {
      if (path === plugin || found.has(path)) continue;
      const inner = factsOf(path);
      if (inner.name === SDK && !path.startsWith(`${root}/`)) continue;
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

/** Returns what Node may take for a package of that name: the nearest folder with a package.json, and what lies nearer without one. */
function resolveFrom(folder: string, name: string, root: string): string[] {
  const found: string[] = [];
  for (let at = folder; `${at}/`.startsWith(`${root}/`); at = dirname(at)) {
    if (basename(at) === "node_modules") continue;
    const path = join(at, "node_modules", name);
    found.push(...FILES.map((end) => path + end).filter(existsSync));
    if (existsSync(join(path, "package.json"))) break;
  }
  return found.map((path) => realpathSync(path));
}

/** Returns everything in a package's own `node_modules`, whether it names it or not, and whether it is a package or a bare folder or file. */
function nestedIn(folder: string): string[] {
  const modules = join(folder, "node_modules");
  if (!existsSync(modules)) return [];
  const names = readdirSync(modules).flatMap((name) => (name.startsWith("@") ? readdirSync(join(modules, name)).map((inner) => join(name, inner)) : [name]));
  // No package can have such a name: they are npm's own.
  const paths = names.filter((name) => !name.startsWith(".")).map((name) => join(modules, name));
  return paths.filter(existsSync).map((path) => realpathSync(path));
}

function factsOf(folder: string): Facts {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Facts;
  } catch {
    return {};
  }
}
