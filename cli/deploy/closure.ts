import { existsSync, lstatSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { besideUs } from "../catalog.ts";
import { PACKAGE } from "../upgrade/installation.ts";

/** One package folder of the running installation. */
export interface Part {
  readonly name: string;
  /** Where it lies. */
  readonly from: string;
  /** Its place in the copy, below the folder that holds `node_modules`. */
  readonly to: string;
  /** Whether it is a link into a workspace: then only the files that npm would publish are copied. Otherwise the whole folder is copied. */
  readonly workspace: boolean;
}

/** The package that this program is in. */
const OWN = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

interface PackageFile {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/**
 * Returns the packages that the running program and the plugins beside it need: those in their scope folder, and all their dependencies, each at the
 * place at which Node finds it. `beside`: the packages to begin with; `own`: the folder of this one. Development dependencies are excluded.
 */
export function closure(beside: readonly string[] = besideUs(), own: string = OWN): Part[] {
  const parts = new Map<string, Part>();
  // If this package was installed alone, the other packages are in its own node_modules, not beside it.
  const modules = join(own, "node_modules");
  if (nameOf(own) === PACKAGE && beside.some((folder) => dirname(dirname(folder)) === modules)) {
    const to = join("node_modules", PACKAGE);
    parts.set(to, { name: PACKAGE, from: own, to, workspace: false });
    for (const needed of Object.keys({ ...readPackage(own).dependencies }))
      if (existsSync(join(modules, needed, "package.json")))
        visit(partAt(join(modules, needed), join("node_modules", needed), needed, modules), modules, parts);
  }
  for (const folder of beside) {
    const workspace = lstatSync(folder).isSymbolicLink();
    visit({ name: nameOf(folder), from: realpathSync(folder), to: join("node_modules", nameOf(folder)), workspace }, dirname(dirname(folder)), parts);
  }
  return [...parts.values()].sort((a, b) => (a.to < b.to ? -1 : 1));
}

/** `modules`: the `node_modules` folder at the top of the installation. */
function visit(part: Part, modules: string, parts: Map<string, Part>): void {
  if (parts.has(part.to)) return;
  parts.set(part.to, part);
  const { dependencies, optionalDependencies, peerDependencies } = readPackage(part.from);
  for (const name of Object.keys({ ...peerDependencies, ...optionalDependencies, ...dependencies })) {
    const found = find(name, part, modules);
    // One that is optional and not here is not needed there either.
    if (found !== undefined) visit(found, modules, parts);
  }
}

/** Resolves `name` for `part` as Node does: in its own `node_modules`, in those of the packages around it, or at the top. */
function find(name: string, part: Part, modules: string): Part | undefined {
  for (let around: Place | undefined = part; around !== undefined; around = outer(around)) {
    const inner = join(around.from, "node_modules", name);
    if (existsSync(join(inner, "package.json"))) return partAt(inner, join(around.to, "node_modules", name), name, modules);
  }
  const top = join(modules, name);
  return existsSync(join(top, "package.json")) ? partAt(top, join("node_modules", name), name, modules) : undefined;
}

type Place = Pick<Part, "from" | "to">;

/** The package in whose `node_modules` that one lies; undefined at the top. */
function outer({ from, to }: Place): Place | undefined {
  const at = to.lastIndexOf(`${sep}node_modules${sep}`);
  return at === -1 ? undefined : { from: from.slice(0, from.length - (to.length - at)), to: to.slice(0, at) };
}

function partAt(folder: string, to: string, name: string, modules: string): Part {
  const from = realpathSync(folder);
  // A package in the tree that a workspace's own `node_modules` holds keeps its place below that workspace.
  return { name, from, to, workspace: lstatSync(folder).isSymbolicLink() && relative(modules, from).startsWith(`..${sep}`) };
}

const nameOf = (folder: string): string => readPackage(folder).name;

const readPackage = (folder: string): PackageFile => JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as PackageFile;
